package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// read opens the stream as a fresh session would, on a copy, and returns all payload.
func (w *walk) read(n *node) (string, error) {
	c := *n
	o := newOpening(opener{stream: "s", session: "reader", epoch: 99, producers: 10, anchors: w.anchors}, 0)
	for {
		next, more := o.next()
		if !more {
			break
		}
		if err := o.take(answerTo(&c, next)); err != nil {
			return "", err
		}
	}
	var text bytes.Buffer
	if o.state.checkpoint.covers != 0 {
		data, ok := c.get(objectKey("s", checkpointName(o.state.checkpoint)))
		if !ok {
			return "", errors.New("the checkpoint is missing")
		}
		ck, err := decodeCheckpoint(data)
		if err != nil {
			return "", err
		}
		for _, ref := range ck.chunks {
			blocks, err := readChunk(&c, &ref)
			if err != nil {
				return "", err
			}
			for _, b := range blocks {
				text.Write(bytes.Join(b.messages, nil))
			}
		}
	}
	for _, sp := range o.spans {
		b, ok := readBlock(&c, sp.number)
		if !ok {
			return "", fmt.Errorf("segment %d is missing", sp.number)
		}
		text.Write(bytes.Join(b.messages, nil))
	}
	if o.state.tail != Offset(text.Len()) {
		return "", fmt.Errorf("the tail is %d, but %q is read", o.state.tail, text.String())
	}
	return text.String(), nil
}

func readChunk(n *node, ref *chunkRef) ([]*block, error) {
	data, ok := n.get(objectKey("s", chunkName(ref)))
	if !ok {
		return nil, errors.New("a chunk is missing")
	}
	index, err := decodeChunkIndex(data[ref.indexAt:], "s", ref)
	if err != nil {
		return nil, err
	}
	var blocks []*block
	for i := range index {
		b, err := decodeChunkBlock(data[index[i].at:][:index[i].length], &index[i])
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// violation says what is wrong with a state, or nothing.
func (w *walk) violation(n *node) string {
	if n.refused != "" {
		return "an opening is refused: " + n.refused
	}
	found, ok := w.readings[n.present]
	if !ok {
		text, err := w.read(n)
		found = text
		if err != nil {
			found = "error: " + err.Error()
		}
		w.readings[n.present] = found
	}
	if wrong, fails := strings.CutPrefix(found, "error: "); fails {
		return "a fresh reader fails: " + wrong
	}
	for _, k := range n.acked {
		at := strings.Index(found, k.record)
		if at < 0 || strings.Count(found, k.record) != 1 {
			return fmt.Sprintf("%s is acknowledged, but a fresh reader finds %q", k.record, found)
		}
		for _, earlier := range n.acked[:k.before] {
			if strings.Index(found, earlier.record) > at {
				return fmt.Sprintf("%s was acknowledged before %s was submitted, but a fresh reader finds %q", earlier.record, k.record, found)
			}
		}
	}
	return ""
}
