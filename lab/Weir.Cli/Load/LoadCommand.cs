using System.CommandLine;
using Weir.Cli.Hosting;

namespace Weir.Cli.Load;

/// <summary>The <c>load</c> command: pushes items through runtimes as fast as they go, and reports.</summary>
internal static class LoadCommand
{
    public static Command Create(CliHost host)
    {
        LoadOptionSet options = new();
        Command command = new(
            "load",
            "Pushes items through a runtime as fast as they go, verifies the results, and reports. Names in brackets are environment variables; a flag wins over them, and an empty one counts as unset.");
        options.AddTo(command);
        command.SetAction((parsed, _) => new LoadRun(options.Read(parsed, host.Variable), host).RunAsync());
        return command;
    }
}
