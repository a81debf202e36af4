using System.Diagnostics.CodeAnalysis;
using System.Text;
using Microsoft.Win32.SafeHandles;
using Weir.Cli.Kit.Hosting;

namespace Weir.Delivery.Cli.Hosting;

/// <summary>The environment of the commands over queues.</summary>
internal sealed record WorkCliHost : CliHost
{
    /// <param name="shared">What all programs have.</param>
    [SetsRequiredMembers]
    public WorkCliHost(CliHost shared)
        : base(shared)
    {
    }

    /// <summary>Where items come from if no file is named.</summary>
    public TextReader In { get; init; } = TextReader.Null;

    /// <summary>
    /// Opens the output for lines of which none may be lost; <see langword="null"/> for the output of the host. The console's own swallows what is written to
    /// somebody who has gone.
    /// </summary>
    public Func<TextWriter>? Lines { get; init; }

    /// <summary>How often progress is shown.</summary>
    public TimeSpan Progress { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>The clock.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>What stands between a queue and the consumers that <c>load</c> measures it with. Tests inject faults here.</summary>
    public Func<IWorkSource<string>, IWorkSource<string>> WrapSource { get; init; } = static source => source;

    /// <summary>The output of this process, which tells when nobody takes it any more.</summary>
    public static TextWriter LinesOfProcess() =>
        new StreamWriter(new FileStream(new SafeFileHandle(1, ownsHandle: false), FileAccess.Write, bufferSize: 0), new UTF8Encoding(false), 1 << 16);
}
