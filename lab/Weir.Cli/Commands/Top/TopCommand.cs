using System.Globalization;
using Weir.Observability;

namespace Weir.Cli.Commands.Top;

/// <summary>The <c>top</c> command: what runs in a process that is already running, as a list that is alive.</summary>
internal static class TopCommand
{
    public const string Name = "top";

    public const string Description =
        "Shows what runs in a process that uses Weir. It reads a process of this machine by its number, or a page of Weir.Dashboard by its address. Without "
            + "either, it takes the only process that has Weir loaded, or lists them.";

    private const int UsualWidth = 80;
    private static readonly TimeSpan KeyPatience = TimeSpan.FromMilliseconds(40);

    public static Command Create(WeirHost host)
    {
        Argument<string?> target = new("PID|URL") { Description = "A process of this machine, or the address of a page", Arity = ArgumentArity.ZeroOrOne };
        TextOption interval = TextOption.Of("--interval", null, "TIME", "How often it looks, from 200ms to 60s. Default 1s");
        TextOption sort = TextOption.Of("--sort", null, "COLUMN", "What comes first: rate, failures or name. Default rate");
        Option<string[]> header = new("--header")
        {
            HelpName = "NAME: VALUE|@FILE",
            Description = "A header for a page that lets in only some, such as \"Authorization: Bearer ...\", or a file with one on each line, which other users do "
                + "not see among the arguments. Can be given again. It is sent to that address alone, and never printed",
        };
        Option<bool> once = new("--once") { Description = "Print one list and end, as it does where the output is no terminal" };
        Option<bool> json = new("--json") { Description = "Print one snapshot as JSON and end" };
        Command command = new(Name, Description)
        {
            target, interval, sort, header, once, json,
        };
        command.SetAction(async (parsed, stop) =>
        {
            TimeSpan period = interval.Find(parsed)?.Time(TimeSpan.FromMilliseconds(200), TimeSpan.FromMinutes(1), "2s") ?? TimeSpan.FromSeconds(1);
            TopOrder order = sort.Find(parsed) is not { } by ? TopOrder.Rate
                : Enum.TryParse(by.Text, ignoreCase: true, out TopOrder known) && !char.IsDigit(by.Text[0]) ? known
                : throw by.Bad("rate, failures or name");
            string? given = parsed.GetValue(target);
            IReadOnlyList<(string, string)> headers = [.. (parsed.GetValue(header) ?? []).SelectMany(TopSources.Headers)];
            if (given is null)
            {
                IReadOnlyList<(int Id, string Name)> processes = host.Top.Processes?.Invoke() ?? TopSources.Processes();
                if (processes.Count != 1)
                {
                    return processes.Count == 0
                        ? throw new BadInputException(
                            "No process of this machine is seen to have Weir loaded; give its PID if it is one file, or the address of its page.")
                        : List(processes, host.Out);
                }

                given = processes[0].Id.ToString(CultureInfo.InvariantCulture);
            }

            ITopSource source = TopSources.Of(given, period, headers);
            bool isJson = parsed.GetValue(json);
            if (isJson || parsed.GetValue(once) || host is not { OutIsTerminal: true, Top.ReadKey: not null })
            {
                WeirSnapshot snapshot = await OnceAsync(source, stop);
                if (isJson)
                {
                    host.Out.WriteLine(Encoding.UTF8.GetString(snapshot.ToJson()));
                }
                else
                {
                    new TopView(order).Table(snapshot, host.Width).ToList().ForEach(host.Out.WriteLine);
                }

                return ExitCode.Success;
            }

            string? end = await ShowAsync(source, order, host, stop);
            if (end is not null)
            {
                host.Say(end);
            }

            return ExitCode.Success;
        });
        return command;
    }

    private static int List(IReadOnlyList<(int Id, string Name)> processes, TextWriter output)
    {
        foreach ((int id, string name) in processes)
        {
            output.WriteLine($"{id,8}  {TopView.Shown(name)}");
        }

        output.WriteLine("'weir top PID' shows one of them.");
        return ExitCode.Success;
    }

    // The first snapshot of a watch that has just begun has no rates yet.
    private static async Task<WeirSnapshot> OnceAsync(ITopSource source, CancellationToken stop)
    {
        WeirSnapshot? last = null;
        int looks = 0;
        await foreach (WeirSnapshot snapshot in source.ReadAsync(stop))
        {
            last = snapshot;
            if (++looks == 2 || !snapshot.IsWatched)
            {
                break;
            }
        }

        return last ?? throw new BadInputException(source.Ended);
    }

    /// <summary>Draws on a screen of its own until q, Ctrl-C or the end of the process.</summary>
    /// <returns>What the user should know afterwards; null for nothing.</returns>
    private static async Task<string?> ShowAsync(ITopSource source, TopOrder order, WeirHost host, CancellationToken stop)
    {
        TopView view = new(order);
        IAsyncEnumerator<WeirSnapshot> snapshots = source.ReadAsync(stop).GetAsyncEnumerator(CancellationToken.None);
        Task<bool> next = snapshots.MoveNextAsync().AsTask();
        bool isOpen = false;
        try
        {
            // What cannot be read at all is said on the screen as it is.
            if (!await next)
            {
                return source.Ended;
            }

            host.Out.Write("\e[?1049h\e[?25l");
            isOpen = true;
            view.Snapshot = snapshots.Current;
            next = snapshots.MoveNextAsync().AsTask();
            Draw();
            while (true)
            {
                await Task.WhenAny(next, Task.Delay(KeyPatience, stop));
                stop.ThrowIfCancellationRequested();
                bool isChanged = false;
                while (host.Top.ReadKey!() is { } key)
                {
                    if (!view.Press(key))
                    {
                        return null;
                    }

                    isChanged = true;
                }

                if (next.IsCompleted)
                {
                    if (!await next)
                    {
                        return source.Ended;
                    }

                    view.Snapshot = snapshots.Current;
                    next = snapshots.MoveNextAsync().AsTask();
                    isChanged = true;
                }

                if (isChanged)
                {
                    Draw();
                }
            }
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            return null;
        }
        finally
        {
            if (isOpen)
            {
                host.Out.Write("\e[?25h\e[?1049l");
                host.Out.Flush();
            }

            source.Dispose();
            await ((Task)next).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            await snapshots.DisposeAsync();
        }

        void Draw()
        {
            (int width, int height) = host.Top.Size();
            StringBuilder frame = new("\e[H");
            foreach (TopLine line in view.Screen(Math.Max(20, width > 0 ? width : UsualWidth), Math.Max(4, height)))
            {
                string text = line.Kind switch
                {
                    TopLineKind.Title => $"\e[1m{line.Text}\e[0m",
                    TopLineKind.Chosen => $"\e[7m{line.Text}\e[0m",
                    _ => line.Text,
                };
                frame.Append(frame.Length > 3 ? "\n" : "").Append(text).Append("\e[K");
            }

            host.Out.Write(frame.Append("\e[J").ToString());
            host.Out.Flush();
        }
    }
}
