using System.CommandLine;
using Weir.Cli.Commands.Load.Engines;
using Weir.Cli.Commands.Load.Options;
using Weir.Cli.Hosting;
using Weir.Cli.Report.Output;

namespace Weir.Cli.Commands.Load;

/// <summary>The <c>load</c> command: pushes items through runtimes as fast as they go, and reports.</summary>
internal static class LoadCommand
{
    public static Command Create(CliHost host)
    {
        LoadOptionSet options = new();
        Command command = new(
            "load",
            "Sends items through the runtimes, or through queues (--engine), as fast as possible, verifies the results and reports. Names in brackets are "
                + "environment variables; an option overrides its variable, and an empty variable counts as not set.");
        options.AddTo(command);
        OutputOptionSet outputs = new();
        outputs.AddTo(command, hasOwnJson: true);
        command.SetAction((parsed, _) =>
        {
            if (options.ReadEngine(parsed, host.Variable) is { } engines)
            {
                OutputSettings forms = outputs.Read(parsed) with { Json = engines.Json };

                // They are written into the result, and an address may have a password in it.
                return new EngineRun(engines, forms, [.. parsed.Tokens.Select(static t => Credentials.Hide(t.Value))], host).RunAsync();
            }

            LoadSettings settings = options.Read(parsed, host.Variable);
            OutputSettings output = outputs.Read(parsed) with { Json = settings.Json };
            return output.Quiet && settings.Watch
                ? throw new BadInputException("--quiet cannot be used with --watch, which shows the run.")
                : new LoadRun(settings, output, [.. parsed.Tokens.Select(static t => t.Value)], host).RunAsync();
        });
        return command;
    }
}
