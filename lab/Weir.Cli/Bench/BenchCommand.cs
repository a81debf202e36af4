using System.CommandLine;
using Weir.Cli.Hosting;
using Weir.Lab.Suites;

namespace Weir.Cli.Bench;

/// <summary>The <c>bench</c> command: the benchmark suites, with BenchmarkDotNet's own arguments.</summary>
internal static class BenchCommand
{
    public const string Name = "bench";

    /// <summary>For the list of commands only: its arguments are not ours to read.</summary>
    public static Command Create()
    {
        Argument<string[]> arguments = new("ARGUMENTS") { Description = "As BenchmarkDotNet has them: --list tree, --filter, --job, --exporters ...; and --workers N,N,...", Arity = ArgumentArity.ZeroOrMore };
        return new Command(Name, "Runs the benchmark suites with BenchmarkDotNet's own arguments; 'weir bench --help' lists them.") { arguments };
    }

    /// <summary>Runs the suites. BenchmarkDotNet writes to the console itself.</summary>
    public static int Run(IReadOnlyList<string> arguments) => BenchmarkHost.Run([.. arguments]);
}
