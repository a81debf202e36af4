namespace Weir.Lab.Queues.Arms;

/// <summary>The libraries, by the names that they have on the page.</summary>
internal static class QueueArms
{
    private static readonly Dictionary<string, Func<QueueAddress, IQueueArm>> All = new()
    {
        ["postgres/Weir"] = static address => new WeirPostgresArm(address),
        ["postgres/Hangfire"] = static address => new HangfireArm(address),
        ["postgres/Quartz"] = static address => new QuartzArm(address),
        ["postgres/Wolverine"] = static address => new WolverinePostgresArm(address),
        ["rabbitmq/Weir"] = static address => new WeirRabbitArm(address),
        ["rabbitmq/MassTransit"] = static address => new MassTransitArm(address),
        ["rabbitmq/Wolverine"] = static address => new WolverineRabbitArm(address),
        ["rabbitmq/RabbitMQ.Client"] = static address => new RabbitClientArm(address),
    };

    /// <summary>Their names: the server, and the library.</summary>
    public static IReadOnlyCollection<string> Names => All.Keys;

    /// <summary>Makes one of them.</summary>
    public static IQueueArm Create(string name, QueueAddress address) => All[name](address);
}
