namespace Weir.Lab.Suites.Figures;

/// <summary>One arm in one round, per run of the arm.</summary>
/// <param name="Round">The round, from 0.</param>
/// <param name="Nanoseconds">The time of a run.</param>
/// <param name="Bytes">What all threads have allocated for a run.</param>
/// <param name="Cores">How many processors were busy on the average.</param>
/// <param name="Hops">How many work items of the thread pool a run had.</param>
internal readonly record struct Sample(int Round, double Nanoseconds, double Bytes, double Cores, double Hops);
