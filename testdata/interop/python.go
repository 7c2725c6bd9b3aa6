package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
)

// debianPython is named in full: the one on PATH may be another, which knows nothing of Debian's packages.
const debianPython = "/usr/bin/python3"

// Python is a client in a script below python/, of which one process serves all requests, one after the other.
type Python struct {
	name, script string
	sends        func(Record) bool

	mu      sync.Mutex // held for a request and its answer
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
	said    words

	producers atomic.Int64
}

// NewConfluent returns confluent-kafka. librdkafka takes a time of 0 for now.
func NewConfluent() *Python {
	return &Python{name: "confluent-kafka", script: "confluent_client.py", sends: func(r Record) bool { return r.Time != 0 }}
}

// NewKafkaPython returns kafka-python. It sends no null header values, and no record with neither key nor value.
func NewKafkaPython() *Python {
	return &Python{name: "kafka-python", script: "kafka_python_client.py", sends: func(r Record) bool {
		for _, h := range r.Headers {
			if h.Value == nil {
				return false
			}
		}
		return r.Key != nil || r.Value != nil
	}}
}

// Missing returns why the client cannot be used here, or nil.
func (p *Python) Missing() error {
	module := map[string]string{"confluent_client.py": "confluent_kafka", "kafka_python_client.py": "kafka"}[p.script]
	out, err := exec.Command(debianPython, "-c", "import "+module).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s -c 'import %s': %w: %s", debianPython, module, err, out)
	}
	return nil
}

func (p *Python) Name() string          { return p.name }
func (p *Python) Sends(r Record) bool   { return p.sends(r) }
func (p *Python) Sent(r Record) Record  { return r }
func (p *Python) Shows(r Record) Record { return r }

// request is what serve.py reads.
type request map[string]any

// call makes a request and decodes its result into result, unless that is nil. When ctx ends first, the process ends.
func (p *Python) call(ctx context.Context, r request, result any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { p.cmd.Process.Kill() })
	defer stop()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return p.ended(ctx, err)
	}
	line, err = p.answers.ReadBytes('\n')
	if err != nil {
		return p.ended(ctx, err)
	}
	var answer struct {
		Result json.RawMessage
		Error  string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("%s: answer %.200q: %w", p.name, line, err)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s %v: %s", p.name, r["op"], answer.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

func (p *Python) start() (err error) {
	if p.cmd != nil {
		return nil
	}
	cmd := exec.Command(debianPython, "-B", "python/"+p.script)
	cmd.Stderr, cmd.SysProcAttr = &p.said, dieWithParent
	if p.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.answers = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	return nil
}

// ended is the error of a request whose process is gone. The next request starts another.
func (p *Python) ended(ctx context.Context, err error) error {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.cmd = nil
	return errors.Join(ctx.Err(), fmt.Errorf("%s: %w: %s", p.name, err, p.said.String()))
}

// Close ends the process.
func (p *Python) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		p.in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.cmd = nil
	}
}

func (p *Python) Producer(ctx context.Context, brokers, codec string, acks int) (Producer, error) {
	id := p.producers.Add(1)
	err := p.call(ctx, request{"op": "open", "producer": id, "brokers": brokers, "codec": codec, "acks": acks}, nil)
	return pythonProducer{python: p, id: id, told: acks != AcksNone}, err
}

type pythonProducer struct {
	python *Python
	id     int64
	told   bool
}

func (p pythonProducer) Send(ctx context.Context, topic string, partition int32, records []Record) ([]int64, error) {
	var result struct {
		IDs   []int64
		Error string
	}
	err := p.python.call(ctx, request{
		"op": "send", "producer": p.id, "topic": topic, "partition": partition, "records": records,
	}, &result)
	if err == nil && result.Error != "" {
		err = fmt.Errorf("%s: %s", p.python.name, result.Error)
	}
	if !p.told {
		return nil, err
	}
	return result.IDs, err
}

func (p pythonProducer) Close() error {
	return p.python.call(context.Background(), request{"op": "close", "producer": p.id}, nil)
}

func (p *Python) Read(ctx context.Context, brokers, topic string, partition int32, from int64, until []byte) (records []Record, err error) {
	err = p.call(ctx, request{
		"op": "read", "brokers": brokers, "topic": topic, "partition": partition, "start": from, "until": until,
	}, &records)
	return records, err
}

func (p *Python) Times(ctx context.Context, brokers, topic string, partition int32, times []int64) (ids []int64, err error) {
	err = p.call(ctx, request{"op": "times", "brokers": brokers, "topic": topic, "partition": partition, "times": times}, &ids)
	return ids, err
}
