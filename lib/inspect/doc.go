// Package inspect takes the files of a log apart: what is in them, what is wrong with them, and what can be saved.
package inspect
