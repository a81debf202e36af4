namespace Weir.Tables.Auto;

/// <summary>What <c>auto</c> does: measure each kind of work on all runtimes, print the page, and write it.</summary>
internal sealed class AutoRun(TextWriter output, TextWriter progress)
{
    private static readonly TimeSpan Window = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan WarmUp = TimeSpan.FromMilliseconds(400);

    /// <summary>Measures, and writes the page.</summary>
    /// <exception cref="WrongResultException">A runtime gave wrong outcomes.</exception>
    /// <exception cref="OperationCanceledException">It was stopped. Nothing was written.</exception>
    public async Task RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        IReadOnlyList<AutoWork> all =
            [.. AutoWork.All, .. BuiltIns.All.Where(static row => AutoWork.All.All(work => work.Name != row.Name)).Select(AutoWork.Of)];
        AutoWork[] chosen = Selection.Of(all, only, static work => work.Name);
        PageFile.Check(page);
        long start = Stopwatch.GetTimestamp();
        PageRun run = new(page, output);
        List<AutoFinding> findings = [];
        double stepsPerSecond = CalibratedSpin.MeasureStepsPerSecond();
        foreach (AutoWork work in only.Count == 0 ? AutoWork.All : chosen)
        {
            await progress.WriteLineAsync(Invariant($"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  {work.Name}"));
            await work.SetupAsync(stepsPerSecond, cancellationToken);
            await using AutoArms arms = AutoArms.Of(work);
            TrialOptions options = new() { Trials = rounds, MinimumWindow = Window, LongestWarmUp = WarmUp };
            TrialReport report = await new TrialRunner(options).RunAsync(arms.Arms, cancellationToken);
            cancellationToken.ThrowIfCancellationRequested();
            findings.Add(new AutoFinding(work, report, arms.Decisions));
            await work.CleanupAsync();
        }

        string provenance = run.Provenance(
            Invariant($"{rounds} rounds of windows of {Window.TotalMilliseconds:0} ms; {Stopwatch.GetElapsedTime(start).TotalSeconds:0} s in all"));
        await run.WriteAsync(AutoPage.Render(provenance, findings));
    }
}
