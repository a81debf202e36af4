namespace Weir.Lab.Results;

/// <summary>The machine and the settings of .NET that figures belong to.</summary>
public sealed record MachineRecord
{
    /// <summary>The model of the processor.</summary>
    public required string Cpu { get; init; }

    /// <summary>How many processors .NET counts.</summary>
    public required int Cores { get; init; }

    /// <summary>The operating system.</summary>
    public required string Os { get; init; }

    /// <summary>The architecture of the process.</summary>
    public required string Architecture { get; init; }

    /// <summary>The memory that the process may use.</summary>
    public required long MemoryBytes { get; init; }

    /// <summary>The version of .NET.</summary>
    public required string Dotnet { get; init; }

    /// <summary>The kind of the garbage collector.</summary>
    public required string Gc { get; init; }

    /// <summary>The environment variables that change how .NET runs code.</summary>
    public required IReadOnlyDictionary<string, string> Variables { get; init; }

    /// <summary>What one reading of the clock costs, in nanoseconds; 0 in results that do not say.</summary>
    public double ClockNs { get; init; }

    /// <summary>A short hash of all of the above but the clock. Figures with different ones do not compare.</summary>
    public required string Hash { get; init; }

    internal static MachineRecord Read() => Hashed(new MachineRecord
    {
        Cpu = MachineInfo.CpuName(),
        Cores = Environment.ProcessorCount,
        Os = RuntimeInformation.OSDescription,
        Architecture = RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant(),
        MemoryBytes = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes,
        Dotnet = Environment.Version.ToString(),
        Gc = MachineInfo.GcMode(),
        Variables = MachineInfo.Variables(),
        ClockNs = Clock.MeasureReadCost(),
        Hash = "",
    });

    /// <summary>The same machine with its hash.</summary>
    internal static MachineRecord Hashed(MachineRecord machine)
    {
        string all = string.Join('\n', [machine.Cpu, $"{machine.Cores}", machine.Os, machine.Architecture, machine.Dotnet, machine.Gc,
            .. machine.Variables.Select(static v => $"{v.Key}={v.Value}")]);
        return machine with { Hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(all)).AsSpan(0, 3)) };
    }
}
