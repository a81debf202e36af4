namespace Weir.Cli.Commands.Load;

/// <summary>The <c>load</c> command: pushes items through runtimes as fast as they go, and reports.</summary>
internal static class LoadCommand
{
    public static Command Create(WeirHost host)
    {
        LoadOptionSet options = new();
        Command command = new(
            "load",
            "Sends items through runtimes, and verifies. As fast as possible, in turns. Names in brackets are environment variables; an option overrides its "
                + "variable, and an empty variable counts as not set.");
        options.AddTo(command);
        OutputOptionSet outputs = new(Threshold.OfItems);
        outputs.AddTo(command, hasOwnJson: true);
        command.MakeRare("--timeout", "--preserve-order", "--warmup", "--fail-rate");
        command.SetAction((parsed, _) =>
        {
            LoadSettings settings = options.Read(parsed, host.Variable);
            OutputSettings output = outputs.Read(parsed) with { Json = settings.Json };
            return output.Quiet && settings.Watch
                ? throw new BadInputException("--quiet cannot be used with --watch, which shows the run.")
                : new LoadRun(settings, output, [.. parsed.Tokens.Select(static t => t.Value)], host).RunAsync();
        });
        return command;
    }
}
