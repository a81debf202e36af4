namespace Weir.Lab.Queues.Arms;

/// <summary>The libraries, by the names that they have on the page.</summary>
internal static class QueueArms
{
    private static readonly Dictionary<string, Func<ArmPlace, IQueueArm>> All = new()
    {
        ["postgres/Weir"] = static place => new WeirPostgresArm(place),
        ["postgres/Hangfire"] = static place => new HangfireArm(place),
        ["postgres/Wolverine"] = static place => new WolverinePostgresArm(place),
        ["rabbitmq/Weir"] = static place => new WeirRabbitArm(place),
        ["rabbitmq/MassTransit"] = static place => new MassTransitArm(place),
        ["rabbitmq/Wolverine"] = static place => new WolverineRabbitArm(place),
        ["rabbitmq/RabbitMQ.Client"] = static place => new RabbitClientArm(place),
    };

    /// <summary>Their names: the server, and the library.</summary>
    public static IReadOnlyCollection<string> Names => All.Keys;

    /// <summary>Makes one of them.</summary>
    public static IQueueArm Create(string name, ArmPlace place) => All[name](place);
}
