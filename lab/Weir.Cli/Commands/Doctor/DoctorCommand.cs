using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.Doctor;

/// <summary>The <c>doctor</c> command: reports what this machine can measure, and how precisely.</summary>
internal static class DoctorCommand
{
    public const string Name = "doctor";

    public const string Description =
        "Checks whether this machine can measure. It looks at the environment, the timer, the noise, and the control over the page cache. It takes about 15 "
            + "seconds, and longer on a busy machine.";

    public static Command Create(WeirHost host)
    {
        OutputOptionSet outputs = new();
        Command command = new(Name, Description);
        outputs.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            OutputSettings output = outputs.Read(parsed);
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            (IReadOnlyList<Check> checks, ResultFile same) = await RunProgress.RunAsync(host, output.Quiet, p => Checks.AllAsync(host, arguments, p));
            ResultFile result = Result(checks, same);
            if (output.Json)
            {
                host.Out.WriteLine(ResultJson.Write(result));
            }
            else
            {
                Write(checks, result, host);
            }

            return ResultOutput.ExportWithCode(result, output, host);
        });
        return command;
    }

    /// <summary>
    /// The comparison of the same thing with itself, together with all checks: the values as settings, the doubts as findings.
    /// </summary>
    internal static ResultFile Result(IReadOnlyList<Check> checks, ResultFile same) => same with
    {
        Work = "this machine, and the same work against itself",
        Settings = checks.ToDictionary(static c => c.Name, static c => c.Value),
        Findings =
        [
            .. same.Findings.Where(static f => f.Level != FindingLevel.Invalid),
            .. checks.Where(static c => c.Level != FindingLevel.Note)
                .Select(static c => new Finding(c.Level, $"{c.Name}: {c.Value}.{(c.Advice is null ? "" : $" {c.Advice}.")}")),
        ],
    };

    private static void Write(IReadOnlyList<Check> checks, ResultFile result, WeirHost host)
    {
        Prose prose = new(host.Out, host.Width);
        prose.Write([Checks.Answer(checks, result), ""]);
        int width = checks.Max(static c => c.Name.Length);
        prose.Write(checks.Select(check => $"{(check.Level == FindingLevel.Note ? "ok" : "! "),-3}{check.Name.PadRight(width)}  "
            + $"{check.Value}{(check.Advice is null ? "" : $". {check.Advice}")}"));
        prose.Write(["", ResultText.Machine(result.Machine), .. result.Machine.Variables.Select(static v => $"{v.Key}={v.Value}")]);
    }
}

/// <summary>What <c>doctor</c> looks at.</summary>
internal static class Checks
{
    private const int Pieces = 400;
    private const int SameRounds = 8;
    private const int SameProcesses = 2;
    private const int CacheBytes = 8 * 1024 * 1024;
    private static readonly TimeSpan CoarseTick = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan SameDuration = TimeSpan.FromMilliseconds(200);

    /// <summary>Looks at everything.</summary>
    /// <returns>What was found, and the comparison of the same thing with itself.</returns>
    public static async Task<(IReadOnlyList<Check> Checks, ResultFile Same)> AllAsync(WeirHost host, IReadOnlyList<string> arguments, RunProgress progress)
    {
        List<Check> checks = [Build(), Quota()];
        const int all = 5;
        progress.Begin("timer", 0, all);
        checks.Add(await TickAsync(host.Stop));
        progress.Begin("clock", 1, all);
        checks.Add(new Check("clock", FormattableString.Invariant($"reading it takes {Clock.MeasureReadCost():0} ns"), FindingLevel.Note));
        progress.Begin("canary", 2, all);
        checks.Add(Noise(Canary.Read(Pieces)));
        checks.AddRange(Pressure());
        progress.Begin("the same against itself", 3, all);
        ResultFile same = await SameAsync(host, arguments);
        checks.Add(Floor(same));
        progress.Begin("page cache", 4, all);
        checks.Add(CacheControl());
        checks.Add(Depth());
        return (checks, same);
    }

    /// <summary>What this machine can tell, in a sentence.</summary>
    public static string Answer(IReadOnlyList<Check> checks, ResultFile same)
    {
        string[] doubts = [.. checks.Where(static c => c.Level != FindingLevel.Note).Select(static c => c.Name)];
        string against = doubts.Length == 0 ? "and nothing speaks against its figures"
            : $"but {Numbers.Counted(doubts.Length, "check")} {(doubts.Length == 1 ? "speaks" : "speak")} against its figures: {string.Join(", ", doubts)}";
        return same.Comparisons is [{ HasInterval: true } floor]
            ? FormattableString.Invariant($"In {SameRounds} short rounds this machine can tell a difference of {FloorOf(floor) * 100:0.#} %, {against}.")
            : $"Cannot say what difference this machine can tell: the comparison of a thing with itself gave no interval, {against}.";
    }

    private static double FloorOf(ComparisonRecord same) => Math.Max(same.High - 1, 1 - same.Low);

    private static Check Build() =>
#if DEBUG
        new("build", "Debug", FindingLevel.Doubt, "The figures of a Debug build mean little; run with -c Release");
#else
        new("build", "Release", FindingLevel.Note);
#endif

    private static async Task<Check> TickAsync(CancellationToken stop)
    {
        TimeSpan tick = await TimerTick.MeasureAsync(cancellationToken: stop);
        return tick > CoarseTick
            ? new Check("timer tick", $"a delay of 1 ms takes {Numbers.Time(tick)}", FindingLevel.Doubt,
                "Do not use delays of a few milliseconds to simulate waiting; use the workload io")
            : new Check("timer tick", $"a delay of 1 ms takes {Numbers.Time(tick)}", FindingLevel.Note);
    }

    private static Check Noise(CanaryReading canary)
    {
        string value = FormattableString.Invariant($"varies by {canary.Variation * 100:0.0} %, {canary.Hiccups} of {Pieces} pieces held up by more than 1 ms");
        return canary.IsQuiet
            ? new Check("canary", value, FindingLevel.Note)
            : new Check("canary", value, FindingLevel.Doubt, "Others are at work on this machine: trust the sign of differences, not their size");
    }

    // Absent if the system does not provide it.
    private static IEnumerable<Check> Pressure()
    {
        foreach (string what in new[] { "cpu", "io", "memory" })
        {
            string path = $"/proc/pressure/{what}";
            if (!File.Exists(path))
            {
                continue;
            }

            string? share = File.ReadLines(path).First().Split(' ').FirstOrDefault(static f => f.StartsWith("avg10=", StringComparison.Ordinal))?[6..];
            if (double.TryParse(share, CultureInfo.InvariantCulture, out double percent))
            {
                string value = FormattableString.Invariant($"some task waited for it {percent:0.0} % of the last 10 s");
                yield return percent > 5
                    ? new Check($"pressure {what}", value, FindingLevel.Doubt, "The machine is loaded")
                    : new Check($"pressure {what}", value, FindingLevel.Note);
            }
        }
    }

    private static Check Quota()
    {
        const string path = "/sys/fs/cgroup/cpu.max";
        string processors = $"{Environment.ProcessorCount} processors";
        if (!File.Exists(path) || File.ReadAllText(path).Split(' ') is not [var quota, var period]
            || !double.TryParse(quota, CultureInfo.InvariantCulture, out double time))
        {
            return new Check("processors", $"{processors}, no quota", FindingLevel.Note);
        }

        double allowed = time / double.Parse(period, CultureInfo.InvariantCulture);
        return allowed < Environment.ProcessorCount
            ? new Check("processors", FormattableString.Invariant($"{processors}, and a quota of {allowed:0.##}"), FindingLevel.Doubt,
                "The control group is stopped when its quota is used up; stay below it")
            : new Check("processors", FormattableString.Invariant($"{processors}, and a quota of {allowed:0.##}"), FindingLevel.Note);
    }

    // Two identical arms: the machine causes any difference. Most of the time goes into warming up processes, so there are few processes with several rounds
    // each.
    private static async Task<ResultFile> SameAsync(WeirHost host, IReadOnlyList<string> arguments)
    {
        WorkerRunSpec run = new() { Workload = "cpu", Duration = SameDuration, Rounds = SameRounds };
        RunSettings settings = new() { Subjects = [[new WorkloadSpec { Name = "cpu" }]], Workers = [1], Run = run };
        WorkerOrder order = settings.Order(settings.Workload, 1, rounds: SameRounds / SameProcesses);
        ResultFile result = await RunProgress.RunAsync(host, quiet: true, p => new WorkerArms(host, "doctor", arguments).MeasureAsync(
            [order.With(static r => r with { Workload = "A" }), order.With(static r => r with { Workload = "B" })], settings, SameProcesses, p));
        return result with { Comparisons = Comparing.All([(result.Arms[1], result.Arms[0])], new ComparisonOptions(), interleaved: true) };
    }

    private static Check Floor(ResultFile result)
    {
        if (result.Comparisons is not [var same])
        {
            return new Check("noise floor (A/A)", "could not be measured", FindingLevel.Doubt, "Too few rounds were valid");
        }

        double floor = FloorOf(same);
        string value = FormattableString.Invariant($"the same thing differs from itself by {(same.Ratio - 1) * 100:+0.0;-0.0;0.0} % ")
            + FormattableString.Invariant($"[{(same.Low - 1) * 100:+0.0;-0.0}..{(same.High - 1) * 100:+0.0;-0.0} %] over {SameRounds} rounds");
        return floor > same.Margin
            ? new Check("noise floor (A/A)", value, FindingLevel.Doubt,
                FormattableString.Invariant($"A difference below {floor * 100:0} % cannot be seen with so few rounds; use more rounds or a quieter machine"))
            : new Check("noise floor (A/A)", value, FindingLevel.Note);
    }

    private static Check CacheControl()
    {
        const string name = "page cache";
        if (!PageCache.IsControllable)
        {
            return new Check(name, "cannot be controlled on this system", FindingLevel.Doubt, "weir hash works only with --cache warm");
        }

        string directory = Path.Combine(Environment.CurrentDirectory, $".weir-doctor-{Environment.ProcessId}");
        try
        {
            RandomFiles.Ensure(directory, 1, CacheBytes, static _ => { }, CancellationToken.None);
            string path = RandomFiles.PathOf(directory, 0);
            PageCache.Drop(path);
            long? before = SystemUse.DeviceReadBytes();
            using (FileStream stream = File.OpenRead(path))
            {
                stream.CopyTo(Stream.Null);
            }

            long? read = SystemUse.DeviceReadBytes() - before;
            bool direct = CanReadDirect(path);
            return read >= CacheBytes * 0.99
                ? new Check(name, $"dropped, and proven by {Numbers.Bytes(read.Value)} read from the device; reads past it {(direct ? "work" : "do not work")}",
                    FindingLevel.Note)
                : new Check(name, $"dropped, but only {Numbers.Bytes(read ?? 0)} of {Numbers.Bytes(CacheBytes)} came from the device; reads past it "
                    + $"{(direct ? "work" : "do not work")}", FindingLevel.Doubt, "The files of this directory may be in memory");
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or BadInputException or System.ComponentModel.Win32Exception)
        {
            return new Check(name, $"could not be tried in this directory ({e.Message})", FindingLevel.Doubt, "Run it where it can write");
        }
        finally
        {
            if (Directory.Exists(directory))
            {
                Directory.Delete(directory, recursive: true);
            }
        }
    }

    private static bool CanReadDirect(string path)
    {
        try
        {
            PageCache.OpenDirect(path).Dispose();
            return true;
        }
        catch (NotSupportedException)
        {
            return false;
        }
    }

    private static Check Depth()
    {
        using KernelReads? reads = KernelReads.TryOpen();
        return reads is null
            ? new Check("depth of reads", "cannot be seen on this system", FindingLevel.Doubt, "weir hash shows open files only")
            : new Check("depth of reads", "is seen in the kernel", FindingLevel.Note);
    }
}

/// <summary>One check of the machine.</summary>
/// <param name="Name">What.</param>
/// <param name="Value">What was found.</param>
/// <param name="Level">Whether it is fine.</param>
/// <param name="Advice">Advice, if it is not fine.</param>
internal sealed record Check(string Name, string Value, FindingLevel Level, string? Advice = null);
