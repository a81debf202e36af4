using System.Collections;

namespace Weir.Lab.Resources;

/// <summary>Reads what a figure is measured on. Figures of different machines or settings are not comparable.</summary>
internal static class MachineInfo
{
    // The variables that change what is measured; others of the family only concern the command-line tools.
    private static readonly string[] Prefixes =
    [
        "DOTNET_gc", "DOTNET_Tiered", "DOTNET_TC_", "DOTNET_ThreadPool", "DOTNET_ReadyToRun", "DOTNET_PROCESSOR_COUNT", "DOTNET_Enable", "DOTNET_Jit",
    ];

    private const string QuotaFile = "/sys/fs/cgroup/cpu.max";

    /// <summary>How many processors the control group of the process may use; <see langword="null"/> when it is not limited, or has none.</summary>
    public static double? CpuQuota() => QuotaOf(File.Exists(QuotaFile) ? File.ReadAllText(QuotaFile) : null);

    /// <summary>The set environment variables that change how .NET runs code, by name.</summary>
    public static SortedDictionary<string, string> Variables() => Relevant(Environment.GetEnvironmentVariables());

    /// <summary>The mode of the garbage collector, such as <c>workstation, concurrent</c>.</summary>
    /// <remarks>Under the server's collector the number of heaps may change while it runs, which changes what is measured.</remarks>
    public static string GcMode()
    {
        string mode = (GCSettings.IsServerGC ? "server" : "workstation") + (GCSettings.LatencyMode == GCLatencyMode.Batch ? "" : ", concurrent");
        return GCSettings.IsServerGC && GC.GetConfigurationVariables().TryGetValue("GCDynamicAdaptationMode", out object? adapts)
            ? $"{mode}, adaptive {adapts}"
            : mode;
    }

    /// <summary>The name of the processor.</summary>
    public static string CpuName()
    {
        const string info = "/proc/cpuinfo";
        if (File.Exists(info))
        {
            foreach (string line in File.ReadLines(info))
            {
                int colon = line.IndexOf(':', StringComparison.Ordinal);
                if (colon > 0 && line.AsSpan(0, colon).Trim() is "model name")
                {
                    return line[(colon + 1)..].Trim();
                }
            }
        }

        return Environment.GetEnvironmentVariable("PROCESSOR_IDENTIFIER") ?? $"unknown ({RuntimeInformation.ProcessArchitecture})";
    }

    /// <summary>Of the line <c>quota period</c> the quotient; none for <c>max period</c>.</summary>
    internal static double? QuotaOf(string? line) =>
        line?.Split(' ', StringSplitOptions.TrimEntries) is [var quota, var period]
        && double.TryParse(quota, CultureInfo.InvariantCulture, out double allowed)
        && double.TryParse(period, CultureInfo.InvariantCulture, out double of) && of > 0
            ? allowed / of
            : null;

    internal static SortedDictionary<string, string> Relevant(IDictionary variables)
    {
        SortedDictionary<string, string> relevant = new(StringComparer.Ordinal);
        foreach (DictionaryEntry variable in variables)
        {
            if (variable is { Key: string name, Value: string value }
                && Prefixes.Any(prefix => name.StartsWith(prefix, StringComparison.OrdinalIgnoreCase)))
            {
                relevant[name] = value;
            }
        }

        return relevant;
    }
}
