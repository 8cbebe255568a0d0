// Subscribes a device to an audience, and unsubscribes it: the records that Carillon reads.
//
//	go mod init subscriptions && go get github.com/twmb/franz-go && go build
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var topic = cmp.Or(os.Getenv("SUBSCRIPTIONS_TOPIC"), "notifications.subscriptions")

type subscription struct {
	Audience   string    `json:"audience"`
	Token      string    `json:"token"`
	Platform   string    `json:"platform"`
	App        string    `json:"app"`
	LastSeenAt time.Time `json:"last_seen_at"`
}

// The client's default partitioner hashes the key with murmur2, as Java clients do.
func newClient(bootstrap string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...))
}

func register(ctx context.Context, client *kgo.Client, audience, platform, app, token string) error {
	value, err := json.Marshal(subscription{audience, token, platform, app, time.Now().UTC()})
	if err != nil {
		return err
	}
	return write(ctx, client, audience, token, value)
}

// A nil value is a tombstone, which unsubscribes.
func unregister(ctx context.Context, client *kgo.Client, audience, token string) error {
	return write(ctx, client, audience, token, nil)
}

func write(ctx context.Context, client *kgo.Client, audience, token string, value []byte) error {
	hash := sha256.Sum256([]byte(token))
	key := audience + "|" + hex.EncodeToString(hash[:])
	record := &kgo.Record{Topic: topic, Key: []byte(key), Value: value}
	return client.ProduceSync(ctx, record).FirstErr()
}

func run(arguments []string) error {
	registers := len(arguments) == 5 && arguments[1] == "register"
	if !registers && !(len(arguments) == 3 && arguments[1] == "unregister") {
		return fmt.Errorf("usage: subscriptions BOOTSTRAP register AUDIENCE PLATFORM APP | unregister AUDIENCE  < token")
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	token := strings.TrimSpace(string(input))
	client, err := newClient(arguments[0])
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if registers {
		return register(ctx, client, arguments[2], arguments[3], arguments[4], token)
	}
	return unregister(ctx, client, arguments[2], token)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
