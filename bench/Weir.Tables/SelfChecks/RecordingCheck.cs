namespace Weir.Tables.SelfChecks;

/// <summary>The cost of recording a latency beyond that of reading the clock.</summary>
internal static class RecordingCheck
{
    private const double MostNanoseconds = 10;
    private const int Calls = 1_000;
    private const int Tries = 3_000;

    public static CheckSection Run()
    {
        RecordingBenchmarks benchmark = new();
        double clock = double.MaxValue;
        double recorded = double.MaxValue;

        // In turns, and the best of many short tries: disturbances only make a try longer.
        for (int i = 0; i < Tries; i++)
        {
            clock = Math.Min(clock, NanosecondsOf(benchmark.ReadClock));
            recorded = Math.Min(recorded, NanosecondsOf(benchmark.ReadClockAndRecord));
        }

        double beyond = recorded - clock;
        string table = "| per call | ns |\n|---|---|\n"
            + Invariant($"| reading the clock | {clock:0.0} |\n| reading the clock and recording the difference | {recorded:0.0} |\n| recording alone | ")
            + Invariant($"{beyond:0.0} |\n")
            + "\nWith BenchmarkDotNet: `eng/bench --filter '*RecordingBenchmarks*'`.\n";
        return new CheckSection(
            Invariant($"recording a latency costs at most {MostNanoseconds:0} ns more than reading the clock."), table, beyond <= MostNanoseconds);
    }

    private static double NanosecondsOf(Func<long> calls)
    {
        long start = System.Diagnostics.Stopwatch.GetTimestamp();
        Lab.Work.Sink.Consume(calls());
        return (double)Clock.Nanoseconds(start, System.Diagnostics.Stopwatch.GetTimestamp()) / Calls;
    }
}
