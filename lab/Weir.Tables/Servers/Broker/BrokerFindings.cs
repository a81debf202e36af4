using Weir.Lab.Runtimes;
using Weir.Lab.Statistics;

namespace Weir.Tables.Servers.Broker;

/// <summary>What was measured.</summary>
/// <param name="Arms">The arms.</param>
/// <param name="Rates">The messages a second of each arm in each round.</param>
/// <param name="Memory">The memory after each million items.</param>
internal sealed record BrokerFindings(
    IReadOnlyList<BrokerArm> Arms,
    IReadOnlyDictionary<string, List<double>> Rates,
    IReadOnlyList<(long Items, double HeapMegabytes, double ProcessMegabytes)> Memory)
{
    public const string Bare = "RabbitMQ.Client";
    public const string Weir = "Weir";
    public const string BareBatch = "RabbitMQ.Client, 256 items a message";
    public const string WeirBatch = "Weir, 256 items a message";
    public const string Classic = "a classic queue";

    public double RateOf(string arm) => Spread.Of(Rates[arm]).Median;

    /// <summary>How fast one is in terms of the other: the ratios within the rounds.</summary>
    public Spread Ratio(string arm, string to) => Spread.Of(Rates[arm].Zip(Rates[to], static (a, b) => a / b));
}
