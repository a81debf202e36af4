namespace Weir.Hosting;

/// <summary>The names of the health checks of the workers and gauges, and the tags to select them by.</summary>
public static class WeirHealth
{
    /// <summary>Whether every worker runs, or has ended as it should. Tag <see cref="LiveTag"/>. If not, restart the process.</summary>
    public const string Live = "weir-live";

    /// <summary>
    /// Whether every worker reads, and reaches its server. Tag <see cref="ReadyTag"/>. A worker is not ready before it has started, and while it stops.
    /// </summary>
    public const string Ready = "weir-ready";

    /// <summary>Whether no worker has a batch that is older than its <see cref="WeirWorkerOptions.MaxLag"/>. Tag <see cref="LagTag"/>.</summary>
    public const string Lag = "weir-lag";

    /// <summary>Whether all gauges can be read, and are not above the limits of their <see cref="WeirGaugeOptions"/>. Tag <see cref="BacklogTag"/>.</summary>
    public const string Backlog = "weir-backlog";

    /// <summary>The tag of <see cref="Live"/>.</summary>
    public const string LiveTag = "live";

    /// <summary>The tag of <see cref="Ready"/>.</summary>
    public const string ReadyTag = "ready";

    /// <summary>The tag of <see cref="Lag"/>.</summary>
    public const string LagTag = "lag";

    /// <summary>The tag of <see cref="Backlog"/>.</summary>
    public const string BacklogTag = "backlog";
}
