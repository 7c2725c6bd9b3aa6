package interop

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Kcat is kcat, which is librdkafka's. It is a program that ends after each use. It tells no ids when producing, and it
// takes one set of headers for all messages of a run.
type Kcat struct{}

func (Kcat) Name() string { return "kcat" }

// What stands between key and value, and behind a message, in its input: in no record here.
const (
	kcatKeyEnd     = "\x1f\x1f"
	kcatMessageEnd = "\x1e\x1e"
)

// Sends is about -Z, which makes what is empty null, key and value alike; a message without a key and with nothing in
// its value is skipped. A header must have a name.
func (Kcat) Sends(r Record) bool {
	for _, h := range r.Headers {
		if h.Name == "" || bytes.ContainsRune(h.Value, 0) {
			return false
		}
	}
	return len(r.Key) > 0 || len(r.Value) > 0 || r.Key != nil && r.Value != nil
}

// Sent has no time of ours: kcat has no option for it.
func (Kcat) Sent(r Record) Record {
	r.Time = AnyTime
	return r
}

func (Kcat) Shows(r Record) Record { return r }

func (Kcat) Producer(_ context.Context, brokers, codec string, acks int) (Producer, error) {
	return kcatProducer{brokers, codec, acks}, nil
}

type kcatProducer struct {
	brokers, codec string
	acks           int
}

// Send runs kcat once for each stretch of records that one command line can send.
func (p kcatProducer) Send(ctx context.Context, topic string, partition int32, records []Record) ([]int64, error) {
	for len(records) > 0 {
		n := 1
		options := strings.Join(kcatOptions(records[0]), "\x00")
		for n < len(records) && strings.Join(kcatOptions(records[n]), "\x00") == options {
			n++
		}
		var in bytes.Buffer
		for _, r := range records[:n] {
			if r.Key != nil {
				in.Write(r.Key)
				in.WriteString(kcatKeyEnd)
			}
			in.Write(r.Value)
			in.WriteString(kcatMessageEnd)
		}
		args := append([]string{"-P", "-b", p.brokers, "-t", topic, "-p", strconv.Itoa(int(partition)), "-z", p.codec,
			"-D", kcatMessageEnd, "-X", "acks=" + strconv.Itoa(p.acks), "-X", "linger.ms=20", "-X", "batch.num.messages=100000",
		}, kcatOptions(records[0])...)
		if _, err := kcat(ctx, in.Bytes(), args...); err != nil {
			return nil, err
		}
		records = records[n:]
	}
	return nil, nil
}

func (kcatProducer) Close() error { return nil }

// kcatOptions are those that depend on the record.
func kcatOptions(r Record) (options []string) {
	if r.Key != nil {
		options = append(options, "-K", kcatKeyEnd)
	}
	if r.Value == nil {
		options = append(options, "-Z")
	}
	for _, h := range r.Headers {
		text := h.Name
		if h.Value != nil {
			text += "=" + string(h.Value)
		}
		options = append(options, "-H", text)
	}
	return options
}

// kcat runs it and returns what it printed. What it says on stderr about errors is an error, whatever its exit status.
func kcat(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "kcat", args...)
	cmd.SysProcAttr = dieWithParent
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &said
	err := cmd.Run()
	if err == nil && (bytes.Contains(said.Bytes(), []byte("ERROR")) || bytes.Contains(said.Bytes(), []byte("fail"))) {
		err = fmt.Errorf("errors on stderr")
	}
	if err != nil {
		err = fmt.Errorf("kcat %q: %w: %s", args, err, said.Bytes())
	}
	return out.Bytes(), err
}

// kcatFormat is id, time, lengths of key and value (-1 for null); then both, then the headers as text.
const kcatFormat = `%o %T %K %S\n%k%s%h` + kcatMessageEnd

func (Kcat) Read(ctx context.Context, brokers, topic string, partition int32, from int64, until []byte) ([]Record, error) {
	offset := strconv.FormatInt(from, 10)
	if from == Start {
		offset = "beginning"
	}
	args := []string{"-C", "-q", "-u", "-b", brokers, "-t", topic, "-p", strconv.Itoa(int(partition)), "-o", offset,
		"-f", kcatFormat, "-X", "fetch.wait.max.ms=50", "-X", "fetch.error.backoff.ms=50", "-X", "check.crcs=true"}
	if until == nil {
		out, err := kcat(ctx, nil, append(args, "-e")...)
		if err != nil {
			return nil, err
		}
		return parseKcat(out)
	}
	return kcatFollow(ctx, until, args)
}

// kcatFollow reads until it meets the value, and kills kcat then. It goes on while the broker is away (-E).
func kcatFollow(ctx context.Context, until []byte, args []string) ([]Record, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kcat", append(args, "-E")...)
	cmd.SysProcAttr = dieWithParent
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all bytes.Buffer
	buf := make([]byte, 64<<10)
	for last := append(bytes.Clone(until), kcatMessageEnd...); !bytes.HasSuffix(all.Bytes(), last); {
		n, err := out.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			return nil, fmt.Errorf("kcat: output ended after %d bytes: %w: %s", all.Len(), err, said.Bytes())
		}
	}
	cancel()
	cmd.Wait()
	return parseKcat(all.Bytes())
}

func parseKcat(out []byte) (records []Record, err error) {
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		var r Record
		var key, value int
		if _, err := fmt.Sscanf(string(head), "%d %d %d %d", &r.ID, &r.Time, &key, &value); err != nil {
			return records, fmt.Errorf("kcat: line %q: %w", head, err)
		}
		take := func(n int) (field []byte) {
			if n < 0 || n > len(rest) {
				return nil
			}
			field, rest = rest[:n:n], rest[n:]
			return field
		}
		r.Key, r.Value = take(key), take(value)
		headers, behind, ended := bytes.Cut(rest, []byte(kcatMessageEnd))
		if !ended {
			return records, fmt.Errorf("kcat: record %d without an end", r.ID)
		}
		r.Headers = parseKcatHeaders(string(headers))
		records = append(records, r)
		out = behind
	}
	return records, nil
}

// parseKcatHeaders reads NAME=VALUE,...; a null value is printed as NULL.
func parseKcatHeaders(text string) (headers []Header) {
	if text == "" {
		return nil
	}
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(field, "=")
		h := Header{Name: name, Value: []byte(value)}
		if value == "NULL" {
			h.Value = nil
		}
		headers = append(headers, h)
	}
	return headers
}

// Times runs kcat -Q. It has no word for the places: librdkafka's numbers are the protocol's.
func (Kcat) Times(ctx context.Context, brokers, topic string, partition int32, times []int64) (ids []int64, err error) {
	for _, at := range times {
		query := fmt.Sprintf("%s:%d:%d", topic, partition, at)
		out, err := kcat(ctx, nil, "-Q", "-b", brokers, "-t", query)
		if err != nil {
			return nil, err
		}
		// It prints: topic [partition] offset N
		fields := strings.Fields(string(out))
		id, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("kcat -Q: %q: %w", out, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
