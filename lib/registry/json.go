package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The text of the nodes. Encoders write the fields in the order of Kafka 0.8.1, without spaces. Decoders take fields in
// any order and skip those they do not know; 0.8.0 padded with blanks. No number may leave 32 bits.

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the readers of 0.8 take text as it stands
	if err := e.Encode(v); err != nil {
		panic(err) // only types of this file come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func decode(what string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) { // its text has the names of our types
			err = fmt.Errorf("field %q: %s does not belong there", kind.Field, kind.Value)
		}
		return fmt.Errorf("%s node %.100q: %w", what, data, err)
	}
	return nil
}

func missing(what string, data []byte, field, allowed string) error {
	return fmt.Errorf("%s node %.100q: field %s, allowed is %s", what, data, field, allowed)
}

func timestamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func parseTimestamp(text string) (time.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms).UTC(), err
}

type brokerJSON struct {
	JMXPort     int32  `json:"jmx_port"`
	Timestamp   string `json:"timestamp"`
	Host        string `json:"host"`
	Version     int32  `json:"version"`
	Port        int32  `json:"port"`
	Incarnation string `json:"incarnation,omitempty"`
}

func (b Broker) encode() []byte {
	return encode(brokerJSON{-1, timestamp(b.Registered), b.Host, 1, b.Port, b.Incarnation})
}

func decodeBroker(id int32, data []byte) (Broker, error) {
	var j brokerJSON
	if err := decode("broker", data, &j); err != nil {
		return Broker{}, err
	}
	if j.Host == "" {
		return Broker{}, missing("broker", data, "host", "a name")
	}
	if j.Port < 1 || j.Port > 65535 {
		return Broker{}, missing("broker", data, "port", "1 to 65535")
	}
	b := Broker{ID: id, Host: j.Host, Port: j.Port, Incarnation: j.Incarnation}
	if at, err := parseTimestamp(j.Timestamp); err == nil {
		b.Registered = at
	}
	return b, nil
}

type assignedJSON struct {
	Version     int32  `json:"version"`
	Incarnation string `json:"incarnation"`
}

func decodeAssigned(data []byte) (incarnation string, err error) {
	var j assignedJSON
	err = decode("assigned id", data, &j)
	return j.Incarnation, err
}

// encode writes the partitions in their order, which encoding/json does not.
func (t Topic) encode() []byte {
	b := []byte(`{"version":1,"partitions":{`)
	for p, replicas := range t.Replicas {
		if p > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(p), 10)
		b = append(b, `":`...)
		b = appendInts(b, replicas)
	}
	b = append(b, '}')
	if t.ID != "" {
		b = fmt.Appendf(b, `,"topic_id":%s`, encode(t.ID))
	}
	if t.Deleting {
		b = append(b, `,"deleting":true`...)
	}
	return append(b, '}')
}

func appendInts(b []byte, numbers []int32) []byte {
	b = append(b, '[')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

func decodeTopic(name string, data []byte) (Topic, error) {
	var j struct {
		Partitions map[string][]int32 `json:"partitions"`
		ID         string             `json:"topic_id"`
		Deleting   bool               `json:"deleting"`
	}
	if err := decode("topic", data, &j); err != nil {
		return Topic{}, err
	}
	if len(j.Partitions) == 0 {
		return Topic{}, missing("topic", data, "partitions", "at least one")
	}
	t := Topic{Name: name, ID: j.ID, Deleting: j.Deleting, Replicas: make([][]int32, len(j.Partitions))}
	for text, replicas := range j.Partitions {
		p, err := atoi(text)
		if err != nil || int(p) >= len(t.Replicas) {
			return Topic{}, missing("topic", data, "partitions", "0 to n-1")
		}
		if !validReplicas(replicas) {
			return Topic{}, missing("topic", data, "partitions", "brokers for each")
		}
		t.Replicas[p] = replicas
	}
	if t.ID != "" {
		if err := checkID(t.ID); err != nil {
			return Topic{}, fmt.Errorf("topic node %.100q: topic_id: %w", data, err)
		}
	}
	return t, nil
}

// PartitionState is what a partition's state node says. It changes only with a claim: whether there is a leader
// follows from whether that broker is registered.
type PartitionState struct {
	ControllerEpoch int32   `json:"controller_epoch"`
	Leader          int32   `json:"leader"` // -1 for none
	Version         int32   `json:"version"`
	LeaderEpoch     int32   `json:"leader_epoch"`
	ISR             []int32 `json:"isr"`
}

func encodeState(replicas []int32) []byte {
	s := PartitionState{Leader: replicas[0], Version: 1, ISR: replicas}
	if s.Leader == NoBroker {
		s.ISR = []int32{}
	}
	return encode(s)
}

func decodeState(data []byte) (PartitionState, error) {
	s := PartitionState{Leader: -2, LeaderEpoch: -2}
	if err := decode("state", data, &s); err != nil {
		return s, err
	}
	if s.Leader < -1 || s.LeaderEpoch < -1 || s.ISR == nil {
		return s, missing("state", data, "leader, leader_epoch or isr", "each of them")
	}
	return s, nil
}

type configJSON struct {
	Version int32             `json:"version"`
	Config  map[string]string `json:"config"`
}

func encodeSettings(settings map[string]string) []byte {
	if settings == nil {
		settings = map[string]string{}
	}
	return encode(configJSON{1, settings})
}

func decodeSettings(data []byte) (map[string]string, error) {
	j := configJSON{Config: map[string]string{}}
	if len(data) == 0 {
		return j.Config, nil
	}
	if err := decode("settings", data, &j); err != nil {
		return nil, err
	}
	if j.Config == nil {
		return nil, missing("settings", data, "config", "an object")
	}
	return j.Config, nil
}

func encodeChange(topic string) []byte { return encode(topic) }

func decodeChange(data []byte) (topic string, err error) {
	if err = decode("change", data, &topic); err == nil {
		err = CheckTopic(topic)
	}
	return topic, err
}

type memberJSON struct {
	Version      int32            `json:"version"`
	Subscription map[string]int32 `json:"subscription"`
	Pattern      string           `json:"pattern"`
	Timestamp    string           `json:"timestamp"`
	Strategy     string           `json:"strategy,omitempty"`
}

// rangeStrategy is not written, so that the text of its members is that of Kafka 0.8.
const rangeStrategy = "range"

func (m Member) encode() []byte {
	subscription := m.Subscription
	if subscription == nil {
		subscription = map[string]int32{}
	}
	strategy := m.Strategy
	if strategy == rangeStrategy {
		strategy = ""
	}
	return encode(memberJSON{1, subscription, string(m.Pattern), timestamp(m.Joined), strategy})
}

func decodeMember(id string, data []byte) (Member, error) {
	var j memberJSON
	if err := decode("member", data, &j); err != nil {
		return Member{}, err
	}
	m := Member{ID: id, Subscription: j.Subscription, Pattern: Pattern(j.Pattern), Strategy: j.Strategy}
	if m.Strategy == rangeStrategy {
		m.Strategy = ""
	}
	if m.Subscription == nil {
		return m, missing("member", data, "subscription", "an object")
	}
	if m.Pattern != Static && m.Pattern != WhiteList && m.Pattern != BlackList {
		return m, missing("member", data, "pattern", "static, white_list or black_list")
	}
	for _, streams := range m.Subscription {
		if streams < 0 {
			return m, missing("member", data, "subscription", "numbers of streams from 0")
		}
	}
	if at, err := parseTimestamp(j.Timestamp); err == nil {
		m.Joined = at
	}
	return m, nil
}

type arbiterJSON struct {
	Version     int32  `json:"version"`
	Kind        string `json:"kind"`
	Epoch       int32  `json:"epoch"`
	Nonce       string `json:"nonce"`
	Coordinator int32  `json:"coordinator"`
}

func (a Arbiter) encode() []byte {
	return encode(arbiterJSON{1, string(a.Kind), a.Epoch, a.Nonce, a.Coordinator})
}

func decodeArbiter(data []byte) (Arbiter, error) {
	j := arbiterJSON{Coordinator: -1}
	if err := decode("arbiter", data, &j); err != nil {
		return Arbiter{}, err
	}
	a := Arbiter{Kind(j.Kind), j.Epoch, j.Nonce, j.Coordinator}
	if a.Kind != RegistryGroup && a.Kind != KafkaGroup {
		return a, missing("arbiter", data, "kind", "registry or kafka")
	}
	if a.Epoch < 1 || a.Coordinator < -1 {
		return a, missing("arbiter", data, "epoch or coordinator", "a number from 1, or from -1")
	}
	if err := checkID(a.Nonce); err != nil {
		return a, fmt.Errorf("arbiter node %.100q: nonce: %w", data, err)
	}
	return a, nil
}

type noteJSON struct {
	Version  int32  `json:"version"`
	Offset   string `json:"offset"`
	Metadata []byte `json:"metadata"` // base64: the bytes of a client need not be text
}

func encodeNote(offset int64, metadata string) []byte {
	return encode(noteJSON{1, strconv.FormatInt(offset, 10), []byte(metadata)})
}

// decodeNote returns the metadata that was committed with offset, and "" when the node belongs to another one.
func decodeNote(data []byte, offset int64) (metadata string, err error) {
	var j noteJSON
	if err := decode("metadata", data, &j); err != nil {
		return "", err
	}
	if j.Offset != strconv.FormatInt(offset, 10) {
		return "", nil
	}
	return string(j.Metadata), nil
}

// NoOffset stands for an offset that was never committed. In the tree every negative number means it.
const NoOffset = -1

func encodeOffset(offset int64) []byte { return strconv.AppendInt(nil, offset, 10) }

// decodeOffset reads plain decimals. Blanks around them are what a shell leaves.
func decodeOffset(data []byte) (int64, error) {
	text := string(bytes.TrimSpace(data))
	if text == "" {
		return NoOffset, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("offset node %.100q, allowed is a decimal number of 64 bits", data)
	}
	return max(n, NoOffset), nil
}

var errID = errors.New("allowed are 1 to 64 of letters, digits, - and _")

// checkID holds ids to what may be part of a path.
func checkID(id string) error {
	if id == "" || len(id) > 64 {
		return fmt.Errorf("id %.100q, %w", id, errID)
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && c != '-' && c != '_' {
			return fmt.Errorf("id %.100q, %w", id, errID)
		}
	}
	return nil
}
