package naming

import (
	"strings"
	"testing"
)

func TestNamesAreKeptWhereTheyFitAndToldApartWhereTheyDoNot(t *testing.T) {
	if got := Object("guard-", "node-a", "-7"); got != "guard-node-a-7" {
		t.Errorf("got %s", got)
	}
	fits := strings.Repeat("x", maxName-len("guard-")-len("-7"))
	if got := Object("guard-", fits, "-7"); got != "guard-"+fits+"-7" {
		t.Errorf("a name that just fits became %s", got)
	}
	one, other := Object("guard-", fits+"y", "-7"), Object("guard-", fits+"z", "-7")
	if one == other || len(one) != maxName || !strings.HasPrefix(one, "guard-x") || !strings.HasSuffix(one, "-7") {
		t.Errorf("names that are one byte too long became %s and %s", one, other)
	}
	if long := strings.Repeat("x", maxLabel); Label(long) != long || len(Label(long+"y")) != maxLabel || Label(long+"y") == Label(long+"z") {
		t.Errorf("labels at the limit and beyond: %s, %s, %s", Label(long), Label(long+"y"), Label(long+"z"))
	}
}
