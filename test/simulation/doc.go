// Package simulation lets the parts that even out load work against each other over simulated hours: the meters of the
// nodes, their reports, the planner, and the cool-downs. No process, clock or API server takes part.
package simulation
