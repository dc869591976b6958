// Package jobselect holds the options by which a command chooses jobs, as all commands on jobs take them: -user, -name,
// -running, -expression and the rest. They become one expression, which the supervisor evaluates.
package jobselect
