namespace Weir.Lab.Measuring;

/// <summary>Several runs in this process that take turns, so that what the machine does meanwhile meets all of them alike.</summary>
internal static class TurnRuns
{
    /// <summary>Measures.</summary>
    /// <param name="arms">What is measured, and how.</param>
    /// <param name="rounds">How many rounds each makes.</param>
    /// <param name="waiting">Is told what is waited for.</param>
    /// <param name="stop">Ends it with the rounds that there are.</param>
    /// <param name="callLimit">How long a call of a workload outside of its operations may take; null for as long as these.</param>
    /// <returns>The runs, and the number of each of their rounds among all, from 1.</returns>
    public static async Task<IReadOnlyList<(WorkerRun Run, IReadOnlyList<int>? Order)>> MeasureAsync(
        IReadOnlyList<(IWorkload Workload, WorkerRunSpec Spec)> arms, int rounds, Action<string>? waiting, CancellationToken stop,
        TimeSpan? callLimit = null)
    {
        int made = 0;
        TurnObserver[] turns = [.. arms.Select(_ => new TurnObserver(() => ++made, waiting))];
        IReadOnlyList<WorkerRun> runs = await WorkerRunner.RunInTurnsAsync(
            [.. arms.Select((arm, i) => (new WorkerRunner(arm.Spec, turns[i]) { CallLimit = callLimit }, arm.Workload))], rounds, stop).ConfigureAwait(false);
        return [.. runs.Select((run, i) => (run, (IReadOnlyList<int>?)turns[i].Order))];
    }

    /// <summary>Numbers the rounds of one run among those of all.</summary>
    private sealed class TurnObserver(Func<int> next, Action<string>? waiting) : IRunObserver
    {
        public List<int> Order { get; } = [];

        public void RoundEnded(WorkerRound round, int rounds) => Order.Add(next());

        public void Waiting(string what) => waiting?.Invoke(what);
    }
}
