namespace Weir.Lab.Results;

/// <summary>
/// A report that BenchmarkDotNet wrote as JSON (<c>--exporters json</c>), as a result. Each benchmark is an arm, each of its measurements a round, and each of
/// its launches a process. Nothing in it says what else ran on the machine, so its times alone decide nothing; its bytes do.
/// </summary>
internal static class BenchmarkDotNetReport
{
    /// <summary>The command of such results.</summary>
    public const string Command = "benchmarkdotnet";

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
                Findings = [new Finding(FindingLevel.Doubt, "A report of BenchmarkDotNet does not say what else ran on the machine.", FindingKind.Machine)],
            };
    }

    private static IEnumerable<RoundRecord> Rounds(JsonElement benchmark)
    {
        double? bytes = benchmark.TryGetProperty("Memory", out JsonElement memory) && memory.ValueKind == JsonValueKind.Object
            && memory.TryGetProperty("BytesAllocatedPerOperation", out JsonElement each) && each.ValueKind == JsonValueKind.Number ? each.GetDouble() : null;
        return !benchmark.TryGetProperty("Measurements", out JsonElement measurements) || measurements.ValueKind != JsonValueKind.Array ? [] :
            from m in measurements.EnumerateArray()
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
                AllocatedBytes = bytes is { } known ? (long)Math.Round(known * operations) : null,
            };
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
