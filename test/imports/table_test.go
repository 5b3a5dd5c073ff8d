package imports

const (
	module       = "github.com/streamshift/streamshift/"
	api          = module + "api/v1alpha1"
	condition    = module + "internal/condition"
	admission    = module + "internal/admission"
	handoff      = module + "internal/handoff"
	tracing      = module + "internal/tracing"
	naming       = module + "internal/naming"
	pki          = module + "internal/pki"
	tlsfolder    = module + "internal/tlsfolder"
	crashpoint   = module + "internal/crashpoint"
	wallclock    = module + "internal/wallclock"
	liveness     = module + "internal/liveness"
	placement    = module + "internal/placement"
	rebalance    = module + "internal/rebalance"
	load         = module + "internal/load"
	engine       = module + "internal/engine"
	streams      = module + "internal/durablestreams"
	routing      = module + "internal/routing"
	controllers  = module + "controllers/..."
	apimachinery = "k8s.io/apimachinery/..."
	kubernetes   = "k8s.io/..."
	runtime      = "sigs.k8s.io/controller-runtime/..."
	logr         = "github.com/go-logr/logr"
	otel         = "go.opentelemetry.io/otel/..."
	prometheus   = "github.com/prometheus/client_golang/prometheus"
)

// purity says how much of the world a package may see.
type purity int

const (
	// worldly packages may read clocks, files, the network and chance.
	worldly purity = iota
	// pure packages may not: time, chance and identity are given to them, so that each decision can be tested and repeated.
	pure
)

// rule says what the packages of a path may import besides the standard library. A path that ends in "/..." stands for itself and
// all below it. The first rule that fits a package counts.
type rule struct {
	packages string
	purity   purity
	may      []string
}

var table = []rule{
	// What everybody may know: the kinds, and nothing that drags more along.
	{packages: api, purity: pure, may: []string{apimachinery}},

	// What ends a test build at a named point, and is nothing in every other.
	{packages: crashpoint, may: nil},
	{packages: wallclock, may: []string{crashpoint}},

	// What decides.
	{packages: condition, purity: pure, may: []string{api, apimachinery}},
	{packages: liveness, purity: pure, may: nil},
	{packages: naming, purity: pure, may: nil},
	{packages: module + "internal/commandline", may: []string{"github.com/spf13/pflag"}},
	{packages: rebalance, purity: pure, may: nil},
	{packages: load, purity: pure, may: nil},
	{packages: placement, purity: pure, may: []string{api}},
	{packages: admission, purity: pure, may: []string{api, apimachinery, condition}},
	{packages: handoff, purity: pure, may: []string{api, apimachinery, condition, admission}},

	// Certificates: who signs and what is due; what is shown and who is trusted.
	{packages: pki, may: nil},
	{packages: tlsfolder, may: []string{logr}},

	// What spans are recorded with.
	{packages: tracing, may: []string{otel}},

	// What keeps and serves streams: it knows nothing of Kubernetes.
	{packages: engine + "/store/...", may: []string{engine + "/store/...", crashpoint, "gocloud.dev/...",
		"cloud.google.com/go/storage", "github.com/aws/smithy-go", "github.com/Azure/azure-sdk-for-go/sdk/...", // their errors
	}},
	{packages: engine + "/...", may: []string{engine + "/...", crashpoint, logr, "github.com/klauspost/compress/..."}},
	{packages: streams, may: []string{engine, logr, "golang.org/x/sync/..."}},
	{packages: routing + "/streamname", purity: pure, may: nil},
	{packages: routing + "/...", may: []string{routing + "/...", engine + "/...", streams, logr, prometheus, tracing}},
	{packages: module + "internal/storemeter", may: []string{engine + "/store", prometheus}},
	{packages: module + "internal/gateway/...", may: []string{routing, streams, logr, prometheus, tracing, otel}},
	{packages: module + "streamclient/...", may: []string{module + "streamclient/..."}},

	// What acts: only the sessions' controller sees the engine.
	{packages: module + "controllers/session", may: []string{
		api, condition, handoff, load, engine + "/...", streams, routing, controllers, crashpoint, kubernetes, runtime, logr, prometheus,
		tracing, otel,
	}},
	{packages: module + "controllers/route", may: []string{api, condition, routing, kubernetes, runtime}},
	{packages: module + "controllers/certificates", may: []string{pki, tlsfolder, kubernetes, runtime, logr}},
	{packages: module + "controllers/access", may: []string{api, routing, module + "internal/gateway", kubernetes, "golang.org/x/sync/..."}},
	{packages: module + "controllers/monitoring", may: []string{runtime, logr, tracing, otel, "github.com/spf13/pflag"}},
	{packages: controllers, may: []string{
		api, condition, admission, handoff, liveness, naming, placement, rebalance, load, controllers, crashpoint, kubernetes, runtime, logr, prometheus, tracing,
		"github.com/robfig/cron/v3",
	}},

	// The plugin of kubectl sees the cluster as a user does, and streams as a client does.
	{packages: module + "internal/kubectlstream", may: []string{
		api, condition, handoff, routing + "/streamname", module + "internal/commandline", module + "streamclient", kubernetes, runtime,
		"github.com/spf13/cobra", "golang.org/x/term",
	}},

	// What wires, and what tests.
	{packages: module + "cmd/...", may: []string{"..."}},
	{packages: module + "test/...", may: []string{"..."}},
}

// worldlyImports are the packages of the standard library that no pure package imports.
var worldlyImports = []string{"os/...", "net/...", "io/ioutil", "math/rand/...", "crypto/rand", "syscall", "runtime/..."}

// worldlyTime are the functions of package time that read or wait for the clock.
var worldlyTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
