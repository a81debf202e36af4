namespace Weir.Tables.Servers.Turns;

/// <summary>Arms that take turns: each round has a pass of each, and the first round warms up.</summary>
internal sealed class FigureTurns(TextWriter progress)
{
    private readonly Dictionary<(string Work, string Arm), List<Pass>> _passes = [];

    /// <summary>The kinds of work, in their order.</summary>
    public IEnumerable<string> Works => _passes.Keys.Select(static k => k.Work).Distinct();

    /// <summary>Measures.</summary>
    /// <exception cref="WrongResultException">Two arms did not do the same work.</exception>
    public async Task RunAsync(IReadOnlyList<(string Name, Func<Task<IReadOnlyList<Pass>>> Run)> arms, int rounds, CancellationToken stop)
    {
        await RoundRunner.TakeTurnsAsync(
            arms.Count,
            round => round <= rounds,
            async (arm, round) =>
            {
                (string name, Func<Task<IReadOnlyList<Pass>>> run) = arms[arm];
                foreach (Pass pass in await run())
                {
                    progress.WriteLine(Invariant($"{pass.Work}, {name}: {pass.Items / pass.Time.TotalSeconds:#,0} a second"));
                    if (round > 0)
                    {
                        Add(name, pass);
                    }
                }

                return RoundEnd.Next;
            },
            stop);
        stop.ThrowIfCancellationRequested();
    }

    /// <summary>The share of the first arm's rate that another one has: the median over the rounds.</summary>
    public double Ratio(string work, string arm, string first) =>
        Spread.Of(Ratios(work, arm, first)).Median;

    /// <summary>The rate of an arm: the median over the rounds.</summary>
    public double Rate(string work, string arm) => Rates(work, arm).Median;

    /// <summary>A goal, and whether it is met.</summary>
    public string Goal(string work, string arm, string first, double least, string name = "the bare loop")
    {
        string share = GoalVerdict.AtLeast([.. Ratios(work, arm, first)], least, static share => Invariant($"{share:0.00}"));
        return Invariant($"- {work}: at least {least} of {name}: {share}");
    }

    /// <summary>A table of all work and arms.</summary>
    /// <param name="first">The arm that the ratios are of.</param>
    /// <param name="ratios">What the ratios are.</param>
    public string Table(string first, string ratios = "share of the bare loop")
    {
        StringBuilder table = new($"| work | arm | items a second | slowest and fastest round | {ratios} |\n|---|---|---:|---:|---:|\n");
        foreach ((string work, string arm) in Works.SelectMany(w => _passes.Keys.Where(k => k.Work == w)))
        {
            Spread rates = Rates(work, arm);
            string ratio = arm == first || !_passes.ContainsKey((work, first)) ? "" : Invariant($"{Ratio(work, arm, first):0.00}");
            table.Append(Invariant($"| {work} | {arm} | {rates.Median:#,0} | {rates.Min:#,0} – {rates.Max:#,0} | {ratio} |\n"));
        }

        return table.ToString();
    }

    private IEnumerable<double> Ratios(string work, string arm, string first) =>
        _passes[(work, arm)].Zip(_passes[(work, first)], static (own, other) => other.Time / own.Time);

    private Spread Rates(string work, string arm) => Spread.Of(_passes[(work, arm)].Select(static p => p.Items / p.Time.TotalSeconds));

    private void Add(string arm, Pass pass)
    {
        Pass? other = _passes.Where(p => p.Key.Work == pass.Work).Select(static p => p.Value[0]).FirstOrDefault();
        if (other is not null && (other.Check, other.Items) != (pass.Check, pass.Items))
        {
            throw new WrongResultException(
                arm, Invariant($"{pass.Work}: {arm} did {pass.Items} items ({pass.Check}), and another arm {other.Items} ({other.Check})."));
        }

        if (!_passes.TryGetValue((pass.Work, arm), out List<Pass>? passes))
        {
            _passes.Add((pass.Work, arm), passes = []);
        }

        passes.Add(pass);
    }
}
