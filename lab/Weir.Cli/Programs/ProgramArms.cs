namespace Weir.Cli.Programs;

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
