using System.Diagnostics;
using System.Reflection;

namespace Weir.Cli.Processes;

/// <summary>
/// Runs a piece of work in a new process of this same program, so that no round inherits the thread pool, the heap or the compiled code of another.
/// </summary>
/// <remarks>The child reads its order as one line of its input and writes its answers as lines of its output. When its input ends, it stops.</remarks>
internal static class SelfProcess
{
    /// <summary>Runs a command of this program.</summary>
    /// <param name="arguments">The arguments.</param>
    /// <param name="order">What the child reads first.</param>
    /// <param name="answer">Gets each line that the child writes.</param>
    /// <param name="variables">Environment variables that the child gets besides its own.</param>
    /// <param name="stop">Asks the child to stop. It still may answer.</param>
    /// <returns>A task that ends with the child.</returns>
    /// <exception cref="InvalidOperationException">The child failed; the message is its own.</exception>
    public static async Task RunAsync(
        IReadOnlyList<string> arguments,
        string order,
        Action<string> answer,
        IReadOnlyDictionary<string, string>? variables,
        CancellationToken stop)
    {
        ProcessStartInfo info = new()
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        (info.FileName, string[] prefix) = Self();
        foreach (string argument in prefix.Concat(arguments))
        {
            info.ArgumentList.Add(argument);
        }

        foreach ((string name, string value) in variables ?? new Dictionary<string, string>())
        {
            info.Environment[name] = value;
        }

        using Process child = Process.Start(info) ?? throw new InvalidOperationException("A child process could not be started.");
        Task<string> errors = child.StandardError.ReadToEndAsync(CancellationToken.None);
        try
        {
            await child.StandardInput.WriteLineAsync(order.AsMemory(), CancellationToken.None).ConfigureAwait(false);
            await child.StandardInput.FlushAsync(CancellationToken.None).ConfigureAwait(false);
            using CancellationTokenRegistration stopping = stop.Register(static c => ((StreamWriter)c!).Close(), child.StandardInput);
            while (await child.StandardOutput.ReadLineAsync(CancellationToken.None).ConfigureAwait(false) is { } line)
            {
                answer(line);
            }
        }
        catch (IOException)
        {
            // The child is gone before it read its order; its exit code and its message say why.
        }

        await child.WaitForExitAsync(CancellationToken.None).ConfigureAwait(false);
        string message = (await errors.ConfigureAwait(false)).Trim();
        if (child.ExitCode != 0 && !stop.IsCancellationRequested)
        {
            string text = message.StartsWith("weir: ", StringComparison.Ordinal) ? message[6..] : message;
            throw new InvalidOperationException(text.Length > 0 ? text : $"A measuring process ended with code {child.ExitCode}.");
        }
    }

    // Inside another program, such as a test, this program is still the assembly beside it.
    private static (string File, string[] Prefix) Self()
    {
        string assembly = Assembly.GetExecutingAssembly().Location;
        string own = Path.ChangeExtension(assembly, OperatingSystem.IsWindows() ? ".exe" : null)!;
        return File.Exists(own) ? (own, []) : ("dotnet", [assembly]);
    }
}
