package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/mover"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := localcluster.Start(ctx, localcluster.Options{Progress: os.Stderr, Folder: "/tmp/pg"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer c.Stop()
	must := func(err error) {
		if err != nil {
			fmt.Println("ERR", err)
			c.Stop()
			os.Exit(1)
		}
	}
	must(c.InstallStreamshift(ctx))
	_, err = c.StartManager(ctx, localcluster.ManagerOptions{})
	must(err)
	for _, n := range []string{"node-a", "node-b", "node-c"} {
		p, err := c.StartNode(ctx, localcluster.NodeOptions{Name: n, Slots: 10000, Args: []string{"--long-poll-timeout=500ms"}})
		must(err)
		fmt.Println(n, p.URL())
	}
	g, err := c.StartGateway(ctx, localcluster.GatewayOptions{})
	must(err)
	fmt.Println("gateway", g.URL())
	fmt.Println("folder", c.Folder())
	if len(os.Args) > 1 {
		m := &mover.Mover{Client: c.Client(), Namespace: "default", Nodes: []string{"node-a", "node-b", "node-c"}, AtOnce: 4, Seed: 1}
		fmt.Println("mover", m.Run(ctx), m.Counts())
		return
	}
	<-ctx.Done()
}
