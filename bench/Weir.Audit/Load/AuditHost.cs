using System.Diagnostics.CodeAnalysis;

namespace Weir.Audit.Load;

/// <summary>The environment of the commands that measure and audit queues.</summary>
internal sealed record AuditHost : CliHost
{
    [SetsRequiredMembers]
    public AuditHost(CliHost shared)
        : base(shared)
    {
    }

    /// <summary>What stands between a queue and the consumers that <c>load</c> measures it with. Tests inject faults here.</summary>
    public Func<IWorkSource<string>, IWorkSource<string>> WrapSource { get; init; } = static source => source;
}
