namespace Weir.Lab.Results;

/// <summary>
/// A report that BenchmarkDotNet wrote as JSON (<c>--exporters json</c>), as a result. Each benchmark is an arm, each of its measurements a round, and each of
/// its launches a process. Nothing in it says what else ran on the machine, so its times alone decide nothing; its bytes do.
/// </summary>
/// <remarks>
/// BenchmarkDotNet reads the bytes once, over one iteration. The reading is taken as exact, and so stands for all rounds, if it is a whole number of objects
/// and has so many operations that what something else of the process allocated once would have shown as a part of one. Any other is that of one round.
/// </remarks>
internal static class BenchmarkDotNetReport
{
    /// <summary>The command of such results.</summary>
    public const string Command = "benchmarkdotnet";

    // Of a reading that is exact. What else allocates once allocates some kilobytes.
    private const long LeastOperations = 1024;

    // What the lab's workers allocated, which reports with workers have without any diagnoser.
    private const string WorkersBytes = "Workers.Allocated/op";

    private const string NoBytes = "A report of BenchmarkDotNet has no bytes, which are all that can be compared: add [MemoryDiagnoser], or --memory.";

    /// <summary>The result of a report; <see langword="null"/> if the text is something else.</summary>
    /// <exception cref="ResultFileException">It is a report without measurements.</exception>
    public static ResultFile? Find(string text, string path, DateTimeOffset writtenAt)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(text);
            return document.RootElement.ValueKind == JsonValueKind.Object
                && document.RootElement.TryGetProperty("HostEnvironmentInfo", out JsonElement machine)
                && document.RootElement.TryGetProperty("Benchmarks", out JsonElement benchmarks)
                ? Of(machine, [.. benchmarks.EnumerateArray()], path, writtenAt)
                : null;
        }
        catch (Exception e) when (e is JsonException or InvalidOperationException or FormatException or KeyNotFoundException)
        {
            throw new ResultFileException($"'{path}' is not a report of BenchmarkDotNet that this program reads: {e.Message}", e);
        }
    }

    private static ResultFile Of(JsonElement machine, JsonElement[] benchmarks, string path, DateTimeOffset writtenAt)
    {
        string[] names = [.. benchmarks.Select(static b => Text(b, "FullName") is { Length: > 0 } full ? full : Text(b, "DisplayInfo"))];
        int order = 0;
        ArmRecord[] arms =
        [
            .. benchmarks.Select((b, i) => new ArmRecord
            {
                // Several jobs have the same full name.
                Name = names.Count(n => n == names[i]) > 1 ? Text(b, "DisplayInfo") : names[i],
                Workers = 1,
                Rounds = [.. Rounds(b).Select(r => r with { Order = ++order })],
            }),
        ];
        return !arms.Any(static a => a.IsMeasured)
            ? throw new ResultFileException(
                $"'{path}' has no measurements: the report must be a full one of BenchmarkDotNet, with --exporters json or fulljson.")
            : new ResultFile
            {
                Command = Command,
                Arguments = [],
                Work = "benchmarks",
                Unit = "operations",
                StartedAt = writtenAt,
                Machine = MachineOf(machine),
                Arms = arms,
                Findings =
                [
                    new Finding(FindingLevel.Doubt, "A report of BenchmarkDotNet does not say what else ran on the machine.", FindingKind.Machine),
                    .. arms.Any(static a => a.Rounds.Any(static r => r.AllocatedBytes is not null)) ? Array.Empty<Finding>()
                        : [new Finding(FindingLevel.Doubt, NoBytes, FindingKind.Difference)],
                ],
            };
    }

    private static IEnumerable<RoundRecord> Rounds(JsonElement benchmark)
    {
        RoundRecord[] rounds = !benchmark.TryGetProperty("Measurements", out JsonElement measurements) || measurements.ValueKind != JsonValueKind.Array ? [] :
        [
            .. from m in measurements.EnumerateArray()
               where Text(m, "IterationMode") == "Workload" && Text(m, "IterationStage") == "Result"
               let operations = m.GetProperty("Operations").GetInt64()
               let nanoseconds = m.GetProperty("Nanoseconds").GetDouble()
               where operations > 0 && nanoseconds > 0
               select new RoundRecord
               {
                   Process = m.GetProperty("LaunchIndex").GetInt32(),
                   Operations = operations,
                   Seconds = nanoseconds / 1e9,
                   Rate = operations * 1e9 / nanoseconds,
               },
        ];
        if (rounds.Length == 0 || BytesOf(benchmark) is not var (bytes, over))
        {
            return rounds;
        }

        bool isExact = ArmBytes.AreWhole(bytes) && (over ?? rounds[0].Operations) >= LeastOperations;
        return rounds.Select((r, i) => isExact || i == 0 ? r with { AllocatedBytes = (long)Math.Round(bytes * r.Operations) } : r);
    }

    // The bytes of an operation, and over how many operations they were read, if it is known.
    private static (double Bytes, long? Over)? BytesOf(JsonElement benchmark)
    {
        if (benchmark.TryGetProperty("Memory", out JsonElement memory) && memory.ValueKind == JsonValueKind.Object
            && memory.TryGetProperty("BytesAllocatedPerOperation", out JsonElement each) && each.ValueKind == JsonValueKind.Number)
        {
            return (each.GetDouble(), memory.TryGetProperty("TotalOperations", out JsonElement all) && all.TryGetInt64(out long over) ? over : null);
        }

        return !benchmark.TryGetProperty("Metrics", out JsonElement metrics) || metrics.ValueKind != JsonValueKind.Array ? null
            : metrics.EnumerateArray()
                .Where(static m => m.TryGetProperty("Descriptor", out JsonElement named) && Text(named, "Id") == WorkersBytes)
                .Select(static m => ((double, long?)?)(m.GetProperty("Value").GetDouble(), null))
                .FirstOrDefault();
    }

    private static MachineRecord MachineOf(JsonElement machine) => MachineRecord.Hashed(new MachineRecord
    {
        Cpu = Text(machine, "ProcessorName"),
        Cores = machine.TryGetProperty("LogicalCoreCount", out JsonElement cores) && cores.ValueKind == JsonValueKind.Number ? cores.GetInt32() : 1,
        Os = Text(machine, "OsVersion"),
        Architecture = Text(machine, "Architecture"),
        MemoryBytes = 0,
        Dotnet = Text(machine, "RuntimeVersion"),
        Gc = "not known",
        Variables = new Dictionary<string, string>(),
        Hash = "",
    });

    private static string Text(JsonElement element, string name) =>
        element.TryGetProperty(name, out JsonElement text) && text.ValueKind == JsonValueKind.String ? text.GetString()! : "";
}
