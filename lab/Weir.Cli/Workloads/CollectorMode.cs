using System.Runtime;

namespace Weir.Cli.Workloads;

/// <summary>The garbage collector of a measuring process. It is chosen when a process starts, so it needs a separate process.</summary>
internal static class CollectorMode
{
    private const string Workstation = "wks";
    private const string Server = "svr";

    private static readonly Dictionary<string, string> Words = new(StringComparer.OrdinalIgnoreCase) { [Workstation] = Workstation, [Server] = Server };

    public static string Read(OptionValue given) => given.OneOf(Words);

    /// <summary>
    /// The variables that select the collector of a process, and those that make it warm up sooner. The server's number of heaps is fixed, because it would
    /// otherwise follow the load, and with it the figures.
    /// </summary>
    /// <param name="mode">The collector; <see langword="null"/> for that of this process.</param>
    public static IReadOnlyDictionary<string, string> Variables(string? mode) => new Dictionary<string, string>(WorkerRunner.ProcessVariables.Concat(mode switch
    {
        null => [],
        Server => [new("DOTNET_gcServer", "1"), new("DOTNET_GCDynamicAdaptationMode", "0")],
        _ => [new("DOTNET_gcServer", "0")],
    }));

    /// <summary>Throws when this process has another collector than it was started for.</summary>
    /// <exception cref="BadInputException">It has another, as on a machine with one processor, where there is no server's.</exception>
    public static void Verify(string? mode)
    {
        if (mode is not null && GCSettings.IsServerGC != (mode == Server))
        {
            throw new BadInputException(
                $"The collector '{mode}' is not available here; the process has the {(GCSettings.IsServerGC ? "server's" : "workstation's")}.");
        }
    }
}
