using System.Security.Cryptography;
using System.Text;
using Weir.Lab.Latency;
using Weir.Lab.Resources;

namespace Weir.Lab.Results;

/// <summary>The machine and the settings of .NET that figures belong to.</summary>
internal sealed record MachineRecord
{
    public required string Cpu { get; init; }

    public required int Cores { get; init; }

    public required string Os { get; init; }

    public required string Architecture { get; init; }

    public required long MemoryBytes { get; init; }

    public required string Dotnet { get; init; }

    public required string Gc { get; init; }

    public required IReadOnlyDictionary<string, string> Variables { get; init; }

    /// <summary>What one reading of the clock costs, in nanoseconds; 0 in results that do not say.</summary>
    public double ClockNs { get; init; }

    /// <summary>A short hash of all of the above but the clock. Figures with different ones do not compare.</summary>
    public required string Hash { get; init; }

    public static MachineRecord Read()
    {
        MachineInfo machine = MachineInfo.Read();
        string all = string.Join('\n', [machine.Cpu, $"{machine.Cores}", machine.Os, machine.Architecture, machine.DotNet, machine.Gc, .. machine.Variables.Select(static v => $"{v.Key}={v.Value}")]);
        return new MachineRecord
        {
            Cpu = machine.Cpu,
            Cores = machine.Cores,
            Os = machine.Os,
            Architecture = machine.Architecture,
            MemoryBytes = machine.MemoryBytes,
            Dotnet = machine.DotNet,
            Gc = machine.Gc,
            Variables = machine.Variables,
            ClockNs = Clock.MeasureReadCost(),
            Hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(all)).AsSpan(0, 3)),
        };
    }
}
