// Package pvi is partitioned variational inference: clients keep their records, and a
// server keeps a normal law that is the prior times a factor of each client (Bui et al.,
// 2018; Ashman et al., 2022), with differential privacy for records or for whole clients
// (Sharma et al., 2019; Heikkilä et al., 2022).
//
// A Rule says what a client's factor should be: Gradient by stochastic gradients, Analytic
// in closed form for linear regression. A Client moves its factor some of the way there, as
// often as its Budget allows, and a Server adds up what clients send, in rounds of all or
// one client after the other. Rules with noise protect records one by one; a Guard
// protects all records of a client together. docs/pvi.md has the proofs.
package pvi
