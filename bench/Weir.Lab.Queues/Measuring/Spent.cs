using System.Diagnostics;

namespace Weir.Lab.Queues.Measuring;

/// <summary>What was spent up to a moment.</summary>
/// <param name="Clock">The moment.</param>
/// <param name="Client">Processor seconds of this process.</param>
/// <param name="Server">Processor seconds of the server.</param>
internal readonly record struct Spent(long Clock, double Client, double? Server)
{
    /// <summary>Reads it.</summary>
    public static Spent Read(ServerProcess server) => new(Stopwatch.GetTimestamp(), Environment.CpuUsage.TotalTime.TotalSeconds, server.Seconds());

    /// <summary>What was spent since an earlier moment.</summary>
    public QueueReading Since(Spent earlier, string work, int items) => new(work, items)
    {
        Seconds = Stopwatch.GetElapsedTime(earlier.Clock, Clock).TotalSeconds,
        Client = Client - earlier.Client,
        Server = Server - earlier.Server,
    };
}
