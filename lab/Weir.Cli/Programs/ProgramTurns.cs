namespace Weir.Cli.Programs;

/// <summary>Runs programs in turns (A B, B A), so that disturbances of the machine affect all equally.</summary>
internal sealed class ProgramTurns(ProgramSettings settings, RunProgress progress, CancellationToken stop)
{
    // Below, the system's clock of used processors is too coarse.
    private const double LeastForRoom = 0.1;
    private static readonly string[] PrepareShell = OperatingSystem.IsWindows() ? ["cmd", "/c"] : ["sh", "-c"];

    private readonly IReadOnlyList<ProgramSpec> _programs = settings.Programs;
    private readonly List<RoundRecord>[] _rounds = [.. settings.Programs.Select(static _ => new List<RoundRecord>())];
    private readonly ProgramRunner _runner = new(settings.Timeout, settings.ShowsOutput, progress.WriteLine, stop);
    private readonly ShellStart _shell = new();
    private int _made;

    /// <summary>The rounds of each program.</summary>
    public IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds => _rounds;

    /// <summary>Why it ended early; <see langword="null"/> when it did not.</summary>
    public Finding? Failure { get; private set; }

    /// <summary>Whether all rounds were made.</summary>
    public bool IsComplete { get; private set; }

    /// <summary>The findings about the subtraction of the shell's time.</summary>
    public Finding? Shell { get; private set; }

    /// <summary>Runs them.</summary>
    /// <exception cref="OperationCanceledException">It was stopped. The rounds until then are there.</exception>
    public async Task MeasureAsync()
    {
        try
        {
            IsComplete = await WarmUpAsync() && await TakeTurnsAsync();
            if (IsComplete)
            {
                await MeasureMemoryAsync();
            }
        }
        finally
        {
            if (_shell.IsKnown)
            {
                SubtractShell();
            }
        }
    }

    private async Task<bool> WarmUpAsync()
    {
        for (int i = 0; i < settings.WarmUps; i++)
        {
            foreach (ProgramSpec program in _programs)
            {
                progress.Begin($"warming up {program.Name}", 0, 1);
                if (await RunAsync(program) is not { } end || Fails(program, end))
                {
                    return false;
                }
            }
        }

        return true;
    }

    private Task<bool> TakeTurnsAsync() => RoundRunner.TakeTurnsAsync(
        _programs.Count, turn => turn < Planned(), RoundAsync, CancellationToken.None, async _ =>
        {
            if (settings.Shell is { } shell)
            {
                await _shell.RunAsync(_runner, shell);
                await _shell.RunAsync(_runner, shell);
            }

            return true;
        });

    private async Task<RoundEnd> RoundAsync(int index, int turn)
    {
        ProgramSpec program = _programs[index];
        int all = Planned() * _programs.Count;
        progress.Begin(program.Name, _made, all);
        SystemUse before = default;
        TimeSpan own = default;
        ProgramEnd? end = await RunAsync(program, () => (before, own) = (SystemUse.Take(), Environment.CpuUsage.TotalTime));
        SystemUse use = SystemUse.Take() - before;
        if (end is null)
        {
            return RoundEnd.Over;
        }

        bool fails = Fails(program, end);
        _rounds[index].Add(Record(end, use, Environment.CpuUsage.TotalTime - own) with
        {
            Order = ++_made, Process = turn + 1, Turn = turn + 1, Problem = fails ? $"It {end.Text}." : null,
        });
        progress.End($"{program.Name}: {Numbers.Nanoseconds(end.Seconds * 1e9)}{(fails ? $" INVALID: it {end.Text}" : "")}", _made, all);
        return fails ? RoundEnd.Over : RoundEnd.Next;
    }

    // How many rounds there will be, as far as it is known yet.
    private int Planned()
    {
        if (settings.Rounds is { } asked)
        {
            return asked;
        }

        double[] times = [.. _rounds.Select(static r => r.Count > 0 ? r.Average(static x => x.Seconds) : 0).Where(static t => t > 0)];
        double shortest = times.Length < _programs.Count ? 0 : times.Min();
        int wanted = shortest > 0 ? (int)Math.Min(ProgramDefaults.MostRounds, Math.Ceiling(ProgramDefaults.LeastTime.TotalSeconds / shortest)) : 0;
        return Math.Max(wanted, ProgramDefaults.LeastRounds);
    }

    private async Task<ProgramEnd?> RunAsync(ProgramSpec program, Action? begins = null)
    {
        await PrepareAsync(program);
        begins?.Invoke();
        ProgramEnd? end = await _runner.RunAsync(program.Name, program.Words);
        if (end is null)
        {
            Failure = new Finding(FindingLevel.Invalid,
                $"{program.Name} did not end within {Numbers.Time(settings.Timeout)} and was abandoned; --timeout gives it more time.", FindingKind.Rounds);
        }

        return end;
    }

    private async Task PrepareAsync(ProgramSpec program)
    {
        if (program.Prepare is { } prepare)
        {
            ProgramEnd? prepared = await _runner.RunAsync($"--prepare '{prepare}'", [.. settings.Shell ?? PrepareShell, prepare]);
            if (prepared?.Code != 0)
            {
                throw new BadInputException($"--prepare '{prepare}' {prepared?.Text ?? "did not end in time"}: the run that it prepares is not measured.");
            }
        }
    }

    private bool Fails(ProgramSpec program, ProgramEnd end)
    {
        if (end.Code == 0 || settings.IgnoresFailures)
        {
            return false;
        }

        Failure = new Finding(FindingLevel.Invalid, $"{program.Name} {end.Text}: --show-output shows its output, and --ignore-failure accepts the exit code.",
            FindingKind.Rounds);
        return true;
    }

    // The peak of a program that needs less than this process is, on Linux, that of this process.
    private static bool IsOfTheProgram(long peak)
    {
        using Process own = Process.GetCurrentProcess();
        return !OperatingSystem.IsLinux() || peak > own.PeakWorkingSet64;
    }

    // Not in the rounds: measuring it would take time there.
    private async Task MeasureMemoryAsync()
    {
        for (int i = 0; i < _programs.Count; i++)
        {
            if (_rounds[i].All(static r => r.PeakResidentBytes is null))
            {
                progress.Begin($"memory of {_programs[i].Name}", _made, _made);
                await PrepareAsync(_programs[i]);
                long? peak = await _runner.MemoryAsync(_programs[i].Name, _programs[i].Words);
                _rounds[i] = [.. _rounds[i].Select(r => r with { PeakResidentBytes = peak })];
            }
        }
    }

    private static RoundRecord Record(ProgramEnd end, in SystemUse use, TimeSpan own) => new()
    {
        Operations = 1,
        Seconds = end.Seconds,
        Rate = 1 / end.Seconds,
        CpuUserSeconds = end.UserSeconds,
        CpuSystemSeconds = end.SystemSeconds,
        PeakResidentBytes = IsOfTheProgram(end.PeakBytes) ? end.PeakBytes : null,
        ContextSwitches = end.Switches,
        MachineIdle = end.Seconds >= LeastForRoom ? use.IdleShare : null,
        Room = end.Seconds >= LeastForRoom && use is { Idle: { } idle, Processors: { } all } && all > TimeSpan.Zero
            ? Math.Min(1, (end.UserSeconds + end.SystemSeconds + own.TotalSeconds + idle.TotalSeconds) / all.TotalSeconds)
            : null,
        StealSeconds = use.Steal?.TotalSeconds,
        CpuPressureSeconds = use.CpuPressure?.TotalSeconds,
        IoPressureSeconds = use.IoPressure?.TotalSeconds,
        ThrottledPeriods = use.ThrottledPeriods,
    };

    // From all or from none: rates with and without it are not comparable.
    private void SubtractShell()
    {
        double seconds = _shell.Of(static e => e.Seconds);
        bool isTaken = _rounds.SelectMany(static r => r).All(r => _shell.CanBeTaken(r.Seconds));
        double user = isTaken ? _shell.Of(static e => e.UserSeconds) : 0;
        double system = isTaken ? _shell.Of(static e => e.SystemSeconds) : 0;
        foreach (List<RoundRecord> rounds in _rounds)
        {
            for (int i = 0; i < rounds.Count; i++)
            {
                RoundRecord round = rounds[i];
                double left = isTaken ? round.Seconds - seconds : round.Seconds;
                rounds[i] = round with
                {
                    Seconds = left,
                    Rate = 1 / left,
                    CpuUserSeconds = Math.Max(0, round.CpuUserSeconds - user),
                    CpuSystemSeconds = Math.Max(0, round.CpuSystemSeconds - system),
                    OverheadNs = seconds * 1e9,
                    OverheadSubtracted = isTaken,
                };
            }
        }

        Shell = isTaken ? null : new Finding(
            FindingLevel.Doubt,
            $"A program takes hardly longer than the start of the shell, {Numbers.Nanoseconds(seconds * 1e9)}, so that is not subtracted. Measure it without "
                + $"--shell.");
    }
}

/// <summary>Measures programs, and makes a result of their rounds.</summary>
internal static class ProgramArms
{
    private const int CanaryPieces = 40;
    private const int LongestWork = 100;

    /// <summary>Measures.</summary>
    /// <param name="host">What stops it.</param>
    /// <param name="arguments">The arguments that repeat it.</param>
    /// <param name="settings">What is measured, and how.</param>
    /// <param name="options">Margin and level of all comparisons together.</param>
    /// <param name="progress">Is told of each run.</param>
    /// <exception cref="OperationCanceledException">It was stopped before any round had ended.</exception>
    public static async Task<ResultFile> MeasureAsync(
        WeirHost host, IReadOnlyList<string> arguments, ProgramSettings settings, ComparisonOptions options, RunProgress progress)
    {
        DateTimeOffset startedAt = host.Measure.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
        using MachineLock? alone = MachineLock.TryTake();
        double variation = Canary.Read(CanaryPieces).Variation;
        ProgramTurns turns = new(settings, progress, host.Stop);
        try
        {
            await turns.MeasureAsync();
        }
        catch (OperationCanceledException) when (turns.Rounds.Any(static r => r.Count > 0))
        {
            // The rounds until then are reported.
        }

        variation = Math.Max(variation, Canary.Read(CanaryPieces).Variation);
        ArmRecord[] arms = [.. settings.Programs.Select((p, i) => Arm(p, turns.Rounds[i]))];
        int comparisons = settings.Groups.Sum(static g => g.Count - 1);
        string work = string.Join(" and ", settings.Programs.Select(static p => p.Text).Distinct());
        return ResultFile.Here("time", arguments, work.Length <= LongestWork ? work : $"{arms.Length} programs", "runs", startedAt) with
        {
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
            Partial = !turns.IsComplete,
            Settings = Settings(settings),
            Arms = arms,
            Comparisons = turns.Failure is null ? [.. Comparisons(settings, arms, options with { Alpha = options.Alpha / Math.Max(1, comparisons) })] : [],
            Findings =
            [
                .. Finding.OtherMeasurement(alone),
                .. new[] { turns.Failure, turns.Shell }.OfType<Finding>(),
                .. Finding.Noise(variation),
                .. Finding.SharedAlpha(comparisons, options.Alpha),
            ],
        };
    }

    // The run is the unit: each has a process of its own.
    private static IEnumerable<ComparisonRecord> Comparisons(ProgramSettings settings, ArmRecord[] arms, ComparisonOptions each)
    {
        int next = 0;
        foreach (int size in settings.Groups.Select(static g => g.Count))
        {
            ArmRecord against = arms[next];
            foreach (ArmRecord arm in arms.Skip(next + 1).Take(size - 1).Where(a => a.IsMeasured && against.IsMeasured))
            {
                if (Comparing.Turns(arm, against, each) is { } compared)
                {
                    yield return compared;
                }
            }

            next += size;
        }
    }

    private static ArmRecord Arm(ProgramSpec program, IReadOnlyList<RoundRecord> rounds)
    {
        Dictionary<string, string> own = new() { [ArmRecord.Command] = program.Text };
        if (program.Prepare is { } prepare)
        {
            own["prepare"] = prepare;
        }

        return new ArmRecord { Name = program.Name, Workers = 1, Varied = program.Varied, Settings = own, Rounds = rounds };
    }

    private static Dictionary<string, string> Settings(ProgramSettings settings) => SettingTexts.Given(
        ("rounds", settings.Rounds is { } rounds ? $"{rounds}" : $"{ProgramDefaults.LeastRounds} and {Numbers.Time(ProgramDefaults.LeastTime)} at least"),
        ("warmup", $"{settings.WarmUps}"),
        ("isolate", "process"),
        ("shell", settings.Shell?[0]),
        ("ignore_failure", settings.IgnoresFailures ? "true" : null));
}
