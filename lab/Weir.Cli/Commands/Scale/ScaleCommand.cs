namespace Weir.Cli.Commands.Scale;

/// <summary>The <c>scale</c> command: measures one workload with several numbers of workers, and fits the scaling law.</summary>
internal static class ScaleCommand
{
    private const string DefaultWithin = "35s";
    private static readonly Dictionary<string, bool> FitWords = new(StringComparer.OrdinalIgnoreCase) { ["usl"] = true, ["none"] = false };

    public const string Name = "scale";

    public const string Description = "Measures several worker counts, and fits a law. The counts take turns in long-lived processes.";

    public static Command Create(WeirHost host)
    {
        Argument<string?> workload = WorkloadArgument.Create();
        RunOptionSet options = new(isScale: true, rounds: 6, duration: "0.3s");
        TextOption fit = TextOption.Of("--fit", null, "LAW", "usl (Universal Scalability Law) or none. Default usl");
        TextOption within = TextOption.Of("--within", null, "TIME",
            $"The most time for the measurement, after at least two rounds of each worker count. Default {DefaultWithin}; none if --rounds or --duration is "
                + $"given");
        OutputOptionSet outputs = new(Threshold.OfOperations);
        KeepOption keep = new();
        Command command = new(Name, Description) { workload };
        options.AddTo(command);
        command.AddAll(fit, within);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            RunSettings settings = options.Read(parsed, parsed.GetValue(workload));
            bool fits = fit.Find(parsed)?.OneOf(FitWords) ?? true;
            OptionValue? end = within.Find(parsed)
                ?? (parsed.Tokens.Any(static t => t.Value is "--rounds" or "--duration") ? null : new OptionValue("--within", DefaultWithin));
            TimeSpan? limit = end?.Time(TimeSpan.FromSeconds(1), TimeSpan.FromHours(1), DefaultWithin);
            OutputSettings output = outputs.Read(parsed);
            keep.Read(parsed, host);
            WorkerOrder[] orders = [.. settings.Workloads.SelectMany(_ => settings.Workers, (w, n) => settings.Order(w, n, rounds: 1))];
            int[] series = [.. settings.Workloads.Select(_ => settings.Workers.Count)];
            WorkerArms arms = new(host, "scale", [.. parsed.Tokens.Select(static t => t.Value)]);
            ResultFile result = await RunProgress.RunAsync(host, output.Quiet, p => arms.MeasureInTurnsAsync(
                orders,
                settings,
                o => ArmGroups.MeasureAsync(o, series, (i, own) => new ArmTurns(host, settings.Rounds, ScaleTurns.MostProcesses, p,
                    fits ? rates => Peak(settings, i, rates) : null, limit).MeasureAsync(own), host.Stop)));
            int code = ResultOutput.Write(fits ? ScalingFits.Fitted(result) : result, output, host);
            keep.Keep(parsed, result, host);
            return code;
        });
        return command;
    }

    private static string? Peak(RunSettings settings, int series, IReadOnlyList<IReadOnlyList<double>> rates) =>
        ScaleTurns.PeakAtFewest([.. settings.Workers.Zip(rates)]) is { } peak ? $"{settings.Workloads[series].Label}: {peak}" : null;
}

/// <summary>Decides when measuring more numbers of workers would not help.</summary>
internal static class ScaleTurns
{
    /// <summary>How many processes a number of workers has.</summary>
    public const int MostProcesses = 3;

    /// <summary>Why no law can be fitted, whatever the remaining rounds show; <see langword="null"/> if a fit is still possible.</summary>
    /// <param name="rates">The numbers of workers with the rates of their rounds.</param>
    internal static string? PeakAtFewest(IReadOnlyList<(int Workers, IReadOnlyList<double> Rates)> rates)
    {
        (int workers, IReadOnlyList<double> fewest) = rates.MinBy(static r => r.Workers);
        double[] others = [.. rates.Where(r => r.Workers != workers).SelectMany(static r => r.Rates)];
        return others.Length > 0 && fewest.Count >= ArmTurns.LeastTurns && fewest.Min() > others.Max()
            ? $"Every round with {workers} {(workers == 1 ? "worker" : "workers")} was faster than any with more (at least {Numbers.Rate(fewest.Min())} "
                + $"against at most {Numbers.Rate(others.Max())} operations/s): the rate only falls, "
                + $"so there is no rise to fit a scaling law to. The run ended after {fewest.Count} rounds each; --fit none measures all of them."
            : null;
    }
}
