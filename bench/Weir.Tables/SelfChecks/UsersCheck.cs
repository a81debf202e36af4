namespace Weir.Tables.SelfChecks;

/// <summary>
/// Code of an assembly, measured by the <c>weir run</c> command, by a hand-written loop with a stopwatch, and by BenchmarkDotNet.
/// </summary>
internal sealed class UsersCheck(WeirCommand command)
{
    private const int InvalidCode = 3;
    private const string HowMuch = "--workers 1 --rounds 5 --duration 300ms";
    private static readonly TimeSpan TryLength = TimeSpan.FromMilliseconds(5);

    /// <summary>Measures each.</summary>
    /// <exception cref="InvalidOperationException">A command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        UsersBenchmarks code = new();
        UsersLookupBenchmarks lookup = new() { Size = 1000 };
        lookup.Setup();
        Dictionary<string, BenchmarkReport> benchmarks = BenchmarkRun.Reports([typeof(UsersBenchmarks), typeof(UsersLookupBenchmarks)])
            .ToDictionary(static r => r.BenchmarkCase.Descriptor.WorkloadMethod.Name);
        (string What, string Arguments, string Benchmark, Action<int> Loop)[] rows =
        [
            ("a lock of its own", Method(nameof(code.TakeLock)), nameof(code.TakeLock), n => LoopOfLock(code, n)),
            ("an asynchronous method", Method(nameof(code.YieldAsync)), nameof(code.YieldAsync), n => LoopOfYield(code, n).GetAwaiter().GetResult()),
            ("a class with set-up and a parameter", $"--class {nameof(UsersLookupBenchmarks)} --param size={lookup.Size}", nameof(lookup.Find),
                n => LoopOfFind(lookup, n)),
            ("prints at every thousandth call", Method(nameof(code.Print)), nameof(code.Print), n => LoopOfPrint(code, n)),
            ("allocates", Method(nameof(code.Allocate)), nameof(code.Allocate), n => LoopOfAllocate(code, n)),
        ];
        bool areMet = true;
        string table = "| code | options | ns: the lab | its rounds | loop by hand | its quartiles | BenchmarkDotNet | bytes: the lab | by hand | "
            + "BenchmarkDotNet | goal |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
        foreach ((string what, string arguments, string name, Action<int> loop) in rows)
        {
            // By hand before and after, so that a machine that changes its speed meanwhile shows in the quartiles.
            List<double> times = [.. ByHand(loop, out _)];
            ArmRecord arm = await MeasureAsync(arguments, cancellationToken);
            times.AddRange(ByHand(loop, out double bytesByHand));
            (double Low, double Middle, double High) byHand = LoopByHand.Quartiles(times);
            Spread lab = Spread.Of(arm.Counted.Select(static r => 1e9 / r.Rate));
            double bytes = Spread.Of(arm.Counted.Select(static r => r.AllocatedBytes.GetValueOrDefault() / (double)r.Operations)).Median;
            BenchmarkReport benchmark = benchmarks[name];
            bool isMet = IsMet(byHand, lab.Median, bytes, name == nameof(code.Allocate) ? UsersBenchmarks.BytesOfAllocate : null);
            areMet &= isMet;
            table += Invariant($"| {what} | `{arguments}` | {lab.Median:0.00} | {lab.Min:0.00} to {lab.Max:0.00} | {byHand.Middle:0.00} | {byHand.Low:0.00} ")
                + Invariant($"to {byHand.High:0.00} | {benchmark.ResultStatistics?.Mean ?? double.NaN:0.00} | ")
                + Invariant($"{bytes:0} | {bytesByHand:0} | {Bytes(benchmark)} | {Word(isMet)} |\n");
        }

        table += "\n| code | options | exit code | what the command says at the end | goal |\n|---|---|---|---|---|\n";
        (string What, string Arguments, string Expected)[] failing =
        [
            ("throws", Method(nameof(code.Throw)), "InvalidOperationException: The queue is empty."),
            ("hangs", Method(nameof(code.Hang)) + " --timeout 6s", "did not end its first operation within 6 s"),
        ];
        foreach ((string what, string arguments, string expected) in failing)
        {
            ChildEnd end = await ChildProgram.RunAsync(command.StartInfo([.. Command(arguments), "--quiet"]), cancellationToken);
            string sentence = end.Errors.TrimEnd().Split('\n')[^1];
            bool isMet = end.Code == InvalidCode && sentence.Contains(expected, StringComparison.Ordinal);
            areMet &= isMet;
            table += Invariant($"| {what} | `{arguments}` | {end.Code} | `{sentence}` | {Word(isMet)} |\n");
        }

        return new CheckSection(
            Invariant(
                $"the median of the lab's rounds lies within the quartiles of a loop by hand, give or take {LoopByHand.Tolerance}; an allocation ")
                    + Invariant($"of {UsersBenchmarks.BytesOfAllocate} bytes is reported to the byte; code that throws or hangs ends with exit code ")
                    + Invariant($"{InvalidCode} and a sentence that says so."),
            table
                + Invariant(
                    $"\nEach is `weir run --assembly Weir.Lab.Suites.dll` with these options and `{HowMuch}`, in its own process, while nothing else is ")
                        + Invariant($"measured. The methods are those of `{nameof(UsersBenchmarks)}`. By hand: {nameof(System.Diagnostics.Stopwatch)} around ")
                        + Invariant($"loops of 5 ms, 200 before and 200 after, each after as many loops to warm up. ")
            + "Code that throws or hangs has no other columns: a loop by hand ends with the exception, or never. BenchmarkDotNet blocks a thread for "
            + "each asynchronous call.\n",
            areMet);
    }

    internal static bool IsMet((double Low, double Middle, double High) byHand, double nanoseconds, double bytes, int? knownBytes) =>
        LoopByHand.Holds(byHand, nanoseconds, nanoseconds) && (knownBytes is not { } known || Math.Round(bytes) == known);

    private static string Method(string name) => $"--method {nameof(UsersBenchmarks)}.{name}";

    private static string Word(bool isMet) => isMet ? "met" : "**not met**";

    private static string Bytes(BenchmarkReport report) =>
        report.GcStats.GetBytesAllocatedPerOperation(report.BenchmarkCase) is { } bytes ? Invariant($"{bytes}") : "-";

    private static string[] Command(string arguments) =>
        ["run", "--assembly", WeirCommand.UserAssembly, .. arguments.Split(' '), .. HowMuch.Split(' ')];

    private async Task<ArmRecord> MeasureAsync(string arguments, CancellationToken cancellationToken)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-users-");
        try
        {
            ResultFile result = await command.RunAsync(Command(arguments), folder, cancellationToken);
            return result.Arms is [{ IsMeasured: true } arm]
                ? arm
                : throw new InvalidOperationException(
                    $"'weir run {arguments}' measured nothing: {string.Join(' ', result.Findings.Select(static f => f.Text))}");
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    // What the code prints goes nowhere meanwhile.
    private static IReadOnlyList<double> ByHand(Action<int> loop, out double bytes)
    {
        const int calls = 10_000;
        TextWriter output = Console.Out;
        Console.SetOut(TextWriter.Null);
        try
        {
            // Once for the compiler, which replaces these loops while they run.
            _ = LoopByHand.Times(loop, TryLength);
            IReadOnlyList<double> times = LoopByHand.Times(loop, TryLength);
            long before = GC.GetTotalAllocatedBytes(precise: true);
            loop(calls);
            bytes = (GC.GetTotalAllocatedBytes(precise: true) - before) / (double)calls;
            return times;
        }
        finally
        {
            Console.SetOut(output);
        }
    }

    private static void LoopOfLock(UsersBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            code.TakeLock();
        }
    }

    private static async Task LoopOfYield(UsersBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            await code.YieldAsync();
        }
    }

    private static void LoopOfFind(UsersLookupBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            code.Find();
        }
    }

    private static void LoopOfPrint(UsersBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            code.Print();
        }
    }

    // The array leaves the loop, or the compiler would put it on the stack.
    private static void LoopOfAllocate(UsersBenchmarks code, int count)
    {
        for (int i = 0; i < count; i++)
        {
            Lab.Work.Sink.Consume(code.Allocate());
        }
    }
}
