namespace Weir.Delivery.Cli.Engines;

/// <summary>The engines, each of which recognises its addresses. A new one is a file beside this one, over the types of WorkEngine.cs, and a row here.</summary>
internal static class WorkEngines
{
    /// <summary>All of them.</summary>
    public static IReadOnlyList<WorkEngine> All { get; } = [MemoryEngine.Engine, PostgresEngine.Engine, RabbitEngine.Engine];

    /// <summary>The forms of the addresses, for messages and help.</summary>
    public static string Forms => $"{string.Join(", ", All.SkipLast(1).Select(static e => e.Form))} or {All[^1].Form}";

    /// <summary>Opens the queue at an address. Nothing is asked of the server.</summary>
    /// <exception cref="BadInputException">No engine has such an address. The message does not repeat it: it may have a password in it.</exception>
    public static OpenedQueue Open(OptionValue address, EngineOrder order) =>
        All.FirstOrDefault(engine => engine.Recognizes(address.Text)) is { } found
            ? found.Open(address, order)
            : throw new BadInputException($"{address.Source} must be {Forms}; it is something else, which is not shown because it may have a password.");
}
