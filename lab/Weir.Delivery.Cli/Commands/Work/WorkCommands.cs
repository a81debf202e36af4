namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The commands that set up a queue, and publish to it.</summary>
internal static class WorkCommands
{
    public static Command Setup(WorkCliHost host) => WorkOptionSet.Over(
        host, "setup", "Creates what a queue needs, and checks it. What exists is not changed.", [], async (_, opened, isJson, token) =>
        {
            await opened.Queue.SetupAsync(token);
            WorkOutput.Write(host, isJson, $"the queue {opened.Queue.Name} is set up", ("queue", opened.Queue.Name));
        });

    public static Command Publish(WorkCliHost host)
    {
        WorkOptionSet work = new();
        LineItems lines = new();
        Argument<string> file = new("FILE") { Description = "A file with one item per line; - for the input", DefaultValueFactory = static _ => "-" };
        TextOption delay = TextOption.Of("--delay", null, "TIME", "The shortest time that the items wait before they are processed, such as 10s. Default 0s");
        Command command = new("publish", "Publishes the lines of a file or of the input.") { file, delay };
        work.AddTo(command);
        lines.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            TimeSpan wait = delay.Find(parsed)?.Time(TimeSpan.Zero, TimeSpan.FromDays(30), "10s") ?? TimeSpan.Zero;
            await using OpenedQueue opened = work.Open(parsed, host);
            if (wait > TimeSpan.Zero && opened.PublishNew is null)
            {
                throw new BadInputException("--delay cannot be used with this engine, which cannot publish items for later.");
            }

            await using IWorkSink<string> sink = await opened.Queue.OpenSinkAsync(token);
            long published = 0;
            long known = 0;
            bool isStopped = false;
            try
            {
                await lines.PublishAsync(parsed, new OptionValue("FILE", parsed.GetValue(file)!), host, PublishAsync, token);
            }
            catch (OperationCanceledException) when (token.IsCancellationRequested)
            {
                isStopped = true;
            }
            catch (Exception e) when (published > 0)
            {
                throw new InvalidOperationException($"{Numbers.Grouped(published)} items were published before this: {e.Message}", e);
            }

            WorkOutput.Write(
                host,
                work.IsJson(parsed),
                $"{Numbers.Grouped(published)} items published to {opened.Queue.Name}"
                    + (known > 0 ? $"; {Numbers.Grouped(known)} were published before under this origin, and are left out" : "")
                    + (isStopped ? "; stopped before the last line" : ""),
                ("queue", opened.Queue.Name),
                ("published", published),
                ("known", known),
                ("stopped", isStopped));
            return isStopped ? ExitCode.Interrupted : ExitCode.Success;

            async ValueTask PublishAsync(IReadOnlyList<WorkItem<string>> items, CancellationToken stop)
            {
                int added = items.Count;
                if (opened.PublishNew is { } publish)
                {
                    added = await publish(items, wait, stop);
                }
                else
                {
                    await sink.WriteAsync(items, null, stop);
                }

                published += added;
                known += items.Count - added;
            }
        });
        return command;
    }
}
