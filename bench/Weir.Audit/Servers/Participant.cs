using System.Reflection;
using Weir.Cli.Kit.Processes;
using Weir.Lab.Network;
using Weir.Lab.Processes;

namespace Weir.Audit.Servers;

/// <summary>A participant: a process that can be killed and started again, and the proxies that its connections go through.</summary>
/// <param name="name">Its name.</param>
/// <param name="kind">What it does.</param>
/// <param name="order">Its order.</param>
/// <param name="proxies">The proxies, one for each server, which belong to it.</param>
/// <param name="patience">How long its end is waited for when it was asked to stop.</param>
/// <param name="say">Is told what is waited for, when it takes longer than one would expect.</param>
internal sealed class Participant(
    string name, string kind, PartOrder order, IReadOnlyList<FaultProxy> proxies, TimeSpan patience, Action<string> say) : IAsyncDisposable
{
    private readonly TaskCompletionSource _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private Process? _process;
    private PrintedLines? _output;
    private PrintedLines? _errors;
    private string? _word;

    public string Name => name;

    /// <summary>Resets all its connections.</summary>
    public void Cut()
    {
        foreach (FaultProxy proxy in proxies)
        {
            proxy.Cut();
        }
    }

    /// <summary>Lets nothing pass its connections.</summary>
    public void Stall()
    {
        foreach (FaultProxy proxy in proxies)
        {
            proxy.Stall();
        }
    }

    /// <summary>Lets everything pass again.</summary>
    public void Resume()
    {
        foreach (FaultProxy proxy in proxies)
        {
            proxy.Resume();
        }
    }

    /// <summary>Why it has ended, if nobody asked it to; <see langword="null"/> while it runs.</summary>
    public string? FindFailure() => _process is { HasExited: true } ended
        ? $"{name} ended by itself with code {ended.ExitCode}{(_errors!.Last.Length > 0 ? $": {_errors.Last}" : "")}"
        : null;

    /// <summary>Starts its process.</summary>
    public void Start()
    {
        ProcessStartInfo info = OwnProgram.StartInfo(Assembly.GetExecutingAssembly(), [PartCommand.Name, kind]);
        info.RedirectStandardInput = true;
        info.RedirectStandardOutput = true;
        info.RedirectStandardError = true;
        _process = Process.Start(info) ?? throw new InvalidOperationException($"The process of {name} could not be started.");
        _output = new PrintedLines(_process.StandardOutput, HearFrom);
        _errors = new PrintedLines(_process.StandardError, static _ => { });
        Write(JsonSerializer.Serialize(order, ResultJson.Line));
        if (_word is not null)
        {
            Write(_word);
        }
    }

    /// <summary>Waits until its process says that it is at work, however long that takes. One that ends is found later, when it is looked at.</summary>
    public async Task WaitUntilReadyAsync(CancellationToken stop)
    {
        Task ended = _process!.WaitForExitAsync(stop);
        await LongWait.ForAsync(Task.WhenAny(_ready.Task, ended), $"{name} to be at work", say);
        stop.ThrowIfCancellationRequested();
    }

    /// <summary>Tells it something, and whoever is started in its place as well.</summary>
    public void Tell(string word)
    {
        _word = word;
        Write(word);
    }

    /// <summary>Kills its process.</summary>
    public async Task KillAsync()
    {
        _process?.Kill();
        await EndAsync();
    }

    /// <summary>Asks its process to stop, and waits for its end. Kills it if it does not end.</summary>
    /// <returns>Whether it has ended when it was asked.</returns>
    public async Task<bool> StopAsync()
    {
        if (_process is not { } process)
        {
            return true;
        }

        process.StandardInput.Close();
        using CancellationTokenSource limit = new(patience);
        bool hasEnded = true;
        try
        {
            await process.WaitForExitAsync(limit.Token);
        }
        catch (OperationCanceledException)
        {
            hasEnded = false;
            process.Kill();
        }

        await EndAsync();
        return hasEnded;
    }

    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        foreach (FaultProxy proxy in proxies)
        {
            await proxy.DisposeAsync();
        }
    }

    private void HearFrom(string line)
    {
        if (line == PartCommand.Ready)
        {
            _ready.TrySetResult();
        }
    }

    private async Task EndAsync()
    {
        if (_process is { } process)
        {
            await process.WaitForExitAsync(CancellationToken.None);
            await Task.WhenAll(_output!.Done, _errors!.Done);
            process.Dispose();
            _process = null;
        }
    }

    private void Write(string line)
    {
        try
        {
            _process?.StandardInput.WriteLine(line);
            _process?.StandardInput.Flush();
        }
        catch (IOException)
        {
            // It has ended, which is found when it is looked at.
        }
    }
}
