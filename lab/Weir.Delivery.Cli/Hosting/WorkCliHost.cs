using System.Diagnostics.CodeAnalysis;

namespace Weir.Delivery.Cli.Hosting;

/// <summary>The environment of the commands over queues.</summary>
internal sealed record WorkCliHost : CliHost
{
    [SetsRequiredMembers]
    public WorkCliHost(CliHost shared)
        : base(shared)
    {
    }

    /// <summary>Where items come from if no file is named.</summary>
    public TextReader In { get; init; } = TextReader.Null;

    /// <summary>Where lines go of which none may be lost; <see langword="null"/> for the output of the host.</summary>
    public ILineOutput? Lines { get; init; }

    /// <summary>How often progress is shown.</summary>
    public TimeSpan Progress { get; init; } = TimeSpan.FromSeconds(5);

    public TimeProvider Clock { get; init; } = TimeProvider.System;
}
