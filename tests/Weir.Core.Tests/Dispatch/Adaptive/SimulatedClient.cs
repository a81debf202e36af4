using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>A run as the server sees it: keeps as many calls in flight as its limit allows, for as long as it has items.</summary>
internal sealed class SimulatedClient
{
    private readonly AdaptiveController? _controller;
    private readonly int _fixedLimit;

    public SimulatedClient(AdaptiveController controller) => _controller = controller;

    public SimulatedClient(int fixedLimit) => _fixedLimit = fixedLimit;

    public int Limit => _controller?.Limit ?? _fixedLimit;

    /// <summary>When it begins, in mean service times.</summary>
    public double StartsAt { get; init; }

    /// <summary>How many items it has.</summary>
    public int Items { get; init; } = int.MaxValue;

    /// <summary>The most calls that its source lets it have in flight, whatever the limit.</summary>
    public int SourceAllows { get; init; } = int.MaxValue;

    public bool IsActive { get; set; }

    public int InFlight { get; set; }

    public int Started { get; set; }

    /// <summary>The time of each completion and the limit after it, in mean service times.</summary>
    public List<(double Time, int Limit, int Windows)> Completions { get; } = [];

    public double End => Completions[^1].Time;

    public void Complete(long started, long now, double time, bool succeeded)
    {
        _controller?.Record(started, now, InFlight, succeeded);
        InFlight--;
        Completions.Add((time, Limit, _controller?.Windows ?? 0));
    }

    public int CompletedBetween(double from, double to) => Completions.Count(c => c.Time >= from && c.Time < to);

    /// <summary>The limit that half of the time was below, from one time to another.</summary>
    public int MedianLimit(double from, double to)
    {
        List<(int Limit, double Time)> spans = [];
        for (int i = 0; i + 1 < Completions.Count; i++)
        {
            if (Completions[i].Time >= from && Completions[i].Time < to)
            {
                spans.Add((Completions[i].Limit, Completions[i + 1].Time - Completions[i].Time));
            }
        }

        spans.Sort();
        double half = spans.Sum(static s => s.Time) / 2;
        foreach ((int limit, double time) in spans)
        {
            half -= time;
            if (half <= 0)
            {
                return limit;
            }
        }

        throw new InvalidOperationException("Nothing completed in that time.");
    }
}
