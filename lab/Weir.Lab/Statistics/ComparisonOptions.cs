namespace Weir.Lab.Statistics;

/// <summary>How rates are compared. Immutable.</summary>
public sealed record ComparisonOptions
{
    /// <summary>Up to which share a difference does not matter.</summary>
    /// <value>More than 0 and less than 1. The default is 0.03.</value>
    public double Margin { get; init; } = 0.03;

    /// <summary>How often a difference may be claimed that is none, and the other way round.</summary>
    /// <value>More than 0 and less than 0.5. The default is 0.01.</value>
    public double Alpha { get; init; } = 0.01;

    /// <summary>The level of the interval, which is that of the test: 1 - <see cref="Alpha"/>.</summary>
    public double Level => 1 - Alpha;

    /// <summary>What is compared. The figures other than bytes share <see cref="Alpha"/>.</summary>
    /// <value>The default is the rate and the bytes.</value>
    public IReadOnlyList<ComparedFigure> Figures { get; init; } = [ComparedFigure.Rate, ComparedFigure.Bytes];

    /// <summary>Whether the rounds were measured in pairs, each of the one next to one of the other.</summary>
    public bool IsPaired { get; init; }

    /// <summary>The same with the share of alpha that each figure has.</summary>
    internal ComparisonOptions OfEach() => this with { Alpha = Alpha / Math.Max(1, Figures.Count(static f => f != ComparedFigure.Bytes)) };

    /// <summary>Throws when a value is outside its range.</summary>
    /// <exception cref="ArgumentOutOfRangeException">A value is outside its range; the message names it and the range.</exception>
    public void Validate()
    {
        ThrowUnless(Margin is > 0 and < 1, nameof(Margin), Margin, "The margin is more than 0 and less than 1.");
        ThrowUnless(Alpha is > 0 and < 0.5, nameof(Alpha), Alpha, "Alpha is more than 0 and less than 0.5.");
    }

    private static void ThrowUnless(bool fine, string name, double value, string message)
    {
        if (!fine)
        {
            throw new ArgumentOutOfRangeException(name, value, message);
        }
    }
}
