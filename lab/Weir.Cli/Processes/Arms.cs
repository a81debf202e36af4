namespace Weir.Cli.Processes;

/// <summary>Measures arms in turns, so that disturbances of the machine affect all of them equally.</summary>
/// <typeparam name="TOrder">What a measuring process is told.</typeparam>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="kind">The kind of the orders.</param>
/// <param name="inThisProcess">Runs an order without another process.</param>
/// <param name="unit">What a rate counts.</param>
/// <param name="variables">Environment variables that the process of an order gets besides those of this one.</param>
internal sealed class Arms<TOrder>(
    WeirHost host, string kind, Func<TOrder, CancellationToken, IAsyncEnumerable<MeasureAnswer>> inThisProcess, string unit,
    Func<TOrder, IReadOnlyDictionary<string, string>?> variables)
    where TOrder : notnull
{
    private readonly List<Finding> _findings = [];
    private readonly Dictionary<int, ProfileRecord> _profiles = [];
    private readonly HashSet<int> _stuck = [];
    private int _order;

    /// <summary>The findings of the measuring processes about all their rounds, without duplicates.</summary>
    public IReadOnlyList<Finding> Findings => [.. _findings.Distinct()];

    /// <summary>What a round after the last showed under a profiler, by the number of the arm, from 0; without such rounds nothing.</summary>
    public IReadOnlyDictionary<int, ProfileRecord> Profiles => _profiles;

    /// <summary>Measures.</summary>
    /// <param name="arms">Name and order of each arm.</param>
    /// <param name="turns">How often each order is run. Turns go there and back over the arms.</param>
    /// <param name="rounds">How many rounds an order makes.</param>
    /// <param name="progress">Is told of each round.</param>
    /// <returns>The rounds of each arm; fewer when it was stopped.</returns>
    public async Task<IReadOnlyList<IReadOnlyList<RoundRecord>>> MeasureAsync(
        IReadOnlyList<(string Name, TOrder Order)> arms, int turns, int rounds, RunProgress progress)
    {
        List<RoundRecord>[] measured = [.. arms.Select(static _ => new List<RoundRecord>())];
        int all = arms.Count * turns * rounds;
        PrintedOnce printed = new(progress);
        RemainingTime remaining = new(host.Measure.Clock, all);
        await RoundRunner.TakeTurnsAsync(arms.Count, turn => turn < turns, TurnAsync, host.Stop);
        printed.WriteOmitted();
        return measured;

        async Task<RoundEnd> TurnAsync(int index, int turn)
        {
            if (_stuck.Contains(index))
            {
                return RoundEnd.Next;
            }

            (string name, TOrder order) = arms[index];
            progress.Begin(name, _order, all);
            int ended = 0;
            int told = 0;
            await RunAsync(order, printed.Print, answer =>
            {
                if (answer.Waiting is { } waiting)
                {
                    progress.WriteLine($"weir: {name}: waiting for {waiting}; it is abandoned after --timeout.");
                }

                if (answer.IsStuck)
                {
                    // It would hang again.
                    _stuck.Add(index);
                }

                if (answer.Rate > 0)
                {
                    told++;
                    progress.End($"{name}: {Numbers.Rate(answer.Rate.Value)} {unit}/s", _order + told, all);
                }

                _findings.AddRange(answer.Findings ?? []);
                if (answer.Profile is { } profile)
                {
                    _profiles[index] = profile;
                }

                if (answer.Round is { } round)
                {
                    measured[index].Add(round with { Order = ++_order, Process = host.Measure.UseProcesses ? turn + 1 : null });
                    string state = round.Partial ? " (stopped)" : round.Problem is { } problem ? $" INVALID: {problem}" : "";
                    if (++ended > told || state.Length > 0)
                    {
                        progress.End($"{name}: {Numbers.Rate(round.Rate)} {unit}/s{state}{remaining.After(_order)}", _order, all);
                    }
                }
            });
            return RoundEnd.Next;
        }
    }

    private async Task RunAsync(TOrder order, Action<string> printed, Action<MeasureAnswer> answer)
    {
        if (host.Measure.UseProcesses)
        {
            await MeasuringProcess.RunAsync(kind, order, variables(order), answer, printed, host.Stop);
            return;
        }

        await foreach (MeasureAnswer one in inThisProcess(order, host.Stop))
        {
            answer(one);
        }
    }
}
