namespace Weir.Audit.Load;

/// <summary>The <c>load</c> command: sends items through queues, and reports what became of them.</summary>
internal static class LoadCommand
{
    public static Command Create(AuditHost host)
    {
        EngineOptionSet options = new();
        OutputOptionSet outputs = new(Threshold.OfItems);
        Command command = new(
            "load",
            "Measures queues, from publishing to done. Names in brackets are environment variables; an option overrides its variable, and an empty variable "
                + "counts as not set.");
        options.AddTo(command);
        outputs.AddTo(command, hasOwnJson: true);
        command.SetAction((parsed, _) =>
        {
            EngineSettings settings = options.Read(parsed, host.Variable);
            OutputSettings output = outputs.Read(parsed) with { Json = settings.Json };

            // They are written into the result, and an address may have a password in it.
            return new EngineRun(settings, output, [.. parsed.Tokens.Select(static t => Credentials.Hide(t.Value))], host).RunAsync();
        });
        return command;
    }
}
