// Package format says how messages are printed, and how what was printed as JSON is read again. It is shared by
// logtail, logsegdump and logcat, so that the three agree byte by byte.
//
// # Raw
//
// The value's bytes and a delimiter; on request the key and a key delimiter before them. Null prints as nothing.
//
// # Template
//
// kcat's letters, replaced in any text:
//
//	%t  topic                        %o  offset (id)
//	%p  partition                    %T  timestamp, ms since 1970
//	%k  key                          %K  its length in bytes, -1 for null
//	%s  value                        %S  its length in bytes, -1 for null
//	%h  headers: name=value,name=value; a null value is NULL
//	%R  length of the value as a big-endian int32, -1 for null
//	%%  a percent sign
//
// and the escapes of Unescape. Null prints as nothing, as an empty key or value does: the lengths tell them apart.
// kcat's octal and decimal escapes are not known here, and anything unknown is refused.
//
// # JSON
//
// One object on a line of its own, keys always in this order, no blanks:
//
//	{"topic":"t","partition":0,"offset":42,"timestamp":1700000000000,"key":null,"value":"text","headers":[["name","value"]]}
//
// Null is null. Bytes that are UTF-8 are a JSON string, in which only what must be is escaped: quotation mark,
// backslash, control characters, and U+2028 and U+2029, which many programs take for the end of a line. Other bytes are
// in standard base64 with padding, in place of the string:
//
//	"key_base64":"/w=="              instead of "key":…
//	"value_base64":"/w=="            instead of "value":…
//	["name",{"base64":"/w=="}]       the value of a header
//	[{"base64":"/w=="},"value"]      the name of a header
//
// Only a topic's name, which is ASCII in any log, can not be told in this way: bytes of it that are not UTF-8 become
// U+FFFD. Everything else comes back from ParseJSON exactly.
package format
