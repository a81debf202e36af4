using System.ComponentModel;
using Weir.Cli.Kit.Processes;

namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>The command that a user gives for items. It gets their values as lines of its input, and its own lines go to the output.</summary>
internal sealed class ItemCommand(IReadOnlyList<string> words, WorkCliHost host)
{
    private const int ErrorLines = 20;
    private const int MostOfALine = 1000;

    private static readonly string[] Addresses = ["WEIR_QUEUE", "WEIR_SOURCE", "WEIR_TO"];

    /// <summary>Reads a command.</summary>
    /// <exception cref="BadInputException">It is none, or there is no such program.</exception>
    public static ItemCommand Of(OptionValue command, bool isForShell, WorkCliHost host)
    {
        if (isForShell)
        {
            string text = command.NotEmpty("a command");
            return new ItemCommand(OperatingSystem.IsWindows() ? ["cmd", "/c", text] : ["sh", "-c", text], host);
        }

        IReadOnlyList<string> words = CommandWords.Split(command);
        return Exists(words[0]) ? new ItemCommand(words, host) : throw new BadInputException($"{command.Source}: there is no program '{words[0]}'.");
    }

    /// <summary>Runs it for items, and waits for its end.</summary>
    /// <exception cref="CommandFailedException">Its exit code is not 0.</exception>
    /// <exception cref="OperationCanceledException">It was killed because the token was cancelled.</exception>
    public async Task RunAsync(IReadOnlyList<WorkItem<string>> items, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        using Process process = Start(items[0]);
        Task input = WriteAsync(process, items);
        Task output = ForEachLineAsync(process.StandardOutput, line => WorkOutput.WriteLine(host, line));
        Queue<string> errors = new();
        Task error = ForEachLineAsync(process.StandardError, line =>
        {
            errors.Enqueue(line.Length > MostOfALine ? line[..MostOfALine] : line);
            if (errors.Count > ErrorLines)
            {
                errors.Dequeue();
            }
        });
        try
        {
            await process.WaitForExitAsync(cancellationToken);
            await Task.WhenAll(input, output, error).WaitAsync(cancellationToken);
        }
        catch (OperationCanceledException)
        {
            Kill(process);

            // What it has started may keep its outputs open.
            await process.WaitForExitAsync(CancellationToken.None);
            throw;
        }

        if (process.ExitCode != 0)
        {
            string end = errors.Count > 0 ? $": {string.Join('\n', errors)}" : ".";
            throw new CommandFailedException($"'{words[0]}' ended with exit code {process.ExitCode.ToString(CultureInfo.InvariantCulture)}{end}");
        }
    }

    private Process Start(WorkItem<string> first)
    {
        // Ctrl-C goes to all processes of a terminal. The items that run shall finish, so their programs ignore it.
        string[] started = OperatingSystem.IsWindows() ? [.. words] : ["/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh", .. words];
        ProcessStartInfo info = new(started[0], started[1..])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        info.Environment["WEIR_ITEM_ID"] = first.Id.ToString();
        info.Environment["WEIR_ITEM_KEY"] = first.Key ?? "";
        info.Environment["WEIR_ITEM_ATTEMPT"] = first.Attempt.ToString(CultureInfo.InvariantCulture);

        // An address with a password is of no use to it.
        foreach (string address in Addresses)
        {
            info.Environment.Remove(address);
        }

        try
        {
            return Process.Start(info)!;
        }
        catch (Win32Exception e)
        {
            throw new CommandFailedException($"'{words[0]}' could not be started: {e.Message}.");
        }
    }

    private static async Task WriteAsync(Process process, IReadOnlyList<WorkItem<string>> items)
    {
        try
        {
            foreach (WorkItem<string> item in items)
            {
                await process.StandardInput.WriteLineAsync(item.Value);
            }

            process.StandardInput.Close();
        }
        catch (IOException)
        {
            // It does not read its input, which is its own affair.
        }
    }

    private static async Task ForEachLineAsync(StreamReader reader, Action<string> take)
    {
        while (await reader.ReadLineAsync() is { } line)
        {
            take(line);
        }
    }

    private static void Kill(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
        }
        catch (Exception e) when (e is InvalidOperationException or Win32Exception or AggregateException)
        {
            // It, or a part of it, has just ended.
        }
    }

    private static bool Exists(string program)
    {
        string[] endings = OperatingSystem.IsWindows() ? ["", ".exe", ".cmd", ".bat"] : [""];
        IEnumerable<string> places = program.Contains(Path.DirectorySeparatorChar, StringComparison.Ordinal)
            ? [program]
            : (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator).Select(folder => Path.Combine(folder, program));
        return places.Any(place => endings.Any(ending => File.Exists(place + ending)));
    }
}
