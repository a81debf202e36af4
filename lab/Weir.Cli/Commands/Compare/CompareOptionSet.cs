namespace Weir.Cli.Commands.Compare;

/// <summary>The options that decide what counts as a difference.</summary>
internal sealed class CompareOptionSet
{
    /// <summary>
    /// What is usual of what takes turns. A quick call hardly depends on neighbours, which take whole slices of time from a few calls.
    /// </summary>
    public static readonly ComparedFigure[] InTurns = [ComparedFigure.Rate, ComparedFigure.P25, ComparedFigure.Bytes];

    /// <summary>What is usual in histories.</summary>
    public static readonly ComparedFigure[] ByCommit = [ComparedFigure.Rate, ComparedFigure.P99, ComparedFigure.Bytes];

    private readonly TextOption _margin =
        TextOption.Of("--margin", null, "SHARE", "The difference up to which two things count as equal: 3% or 0.03. Default 3%");
    private readonly TextOption _alpha = TextOption.Of("--alpha", null, "SHARE", "How often a difference may be claimed where there is none. Default 1%");

    private readonly TextOption _figures =
        TextOption.Of("--figures", null, "NAME,...", "What is compared: rate, bytes, p25, p50, p90, p99. Default rate,bytes; in turns p25 too, by commit p99");

    private readonly TextOption _across =
        TextOption.Of("--across", null, "SETTING,...", "The settings in which two stored results may differ, such as grain; other differences are refused");

    /// <summary>The options for everything that is measured in turns.</summary>
    public IReadOnlyList<Option> OfTurns => [_margin, _alpha];

    /// <summary>The options for histories.</summary>
    public IReadOnlyList<Option> OfHistory => [.. OfTurns, _figures];

    public void AddTo(Command command) => command.AddAll(_margin, _alpha, _figures, _across);

    /// <summary>Reads them.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="usual">What is compared if it is not said; <see langword="null"/> for what is usual with stored results.</param>
    public ComparisonOptions Read(ParseResult parsed, IReadOnlyList<ComparedFigure>? usual = null) => new()
    {
        Margin = _margin.Find(parsed)?.Share(0.0001, 0.9) ?? 0.03,
        Alpha = _alpha.Find(parsed)?.Share(0.0001, 0.49) ?? 0.01,
        Figures = _figures.Find(parsed) is { } given ? FiguresOf(given) : usual ?? new ComparisonOptions().Figures,
    };

    private static ComparedFigure[] FiguresOf(OptionValue given) =>
        [.. given.Text.Split(',').Select(name => Enum.GetValues<ComparedFigure>().Cast<ComparedFigure?>()
            .FirstOrDefault(f => FigureWords.Of(f!.Value) == name.Trim()) ?? throw given.Bad("one or more of rate, bytes, p25, p50, p90 and p99")).Distinct()];

    /// <summary>The settings that may differ.</summary>
    public IReadOnlyList<string> Across(ParseResult parsed) => _across.Find(parsed) is { } given
        ? given.Text.Split(',', StringSplitOptions.TrimEntries) is var names && names.All(static n => n.Length > 0)
            ? names
            : throw given.Bad("names of settings separated by commas, such as grain,rate")
        : [];
}
