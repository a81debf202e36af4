using System.Runtime.CompilerServices;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>What a run continues on a thread: a worker, or parked calls. It is its own work item and keeps one continuation for its lifetime.</summary>
internal abstract class PumpWork : IThreadPoolWorkItem
{
    private Action? _continuation;

    protected abstract Pump Run { get; }

    protected Action Continuation => _continuation ??= Resume;

    /// <summary>Runs on a thread of the executor, for a start or after a suspension that ended elsewhere.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        try
        {
            if (MayEnter())
            {
                FaultPoint.Pass("PumpWork.Execute", Run);
                Work(isOnOwnThread: true);
            }
        }
        catch (Exception e)
        {
            Lost(e);
        }
    }

    /// <summary>Whether there is still anything to do for a thread that was called.</summary>
    protected abstract bool MayEnter();

    /// <summary>Does the work, on a thread that may do it and in the run's context. Another thread may have this object at the end of it.</summary>
    /// <param name="isOnOwnThread">Whether the thread was started for the run, rather than having come to complete an item.</param>
    protected abstract void Drive(bool isOnOwnThread);

    /// <summary>No thread could do the work, perhaps for lack of memory: it ends, and its run fails. Must not throw.</summary>
    protected abstract void Lost(Exception error);

    protected void Work(bool isOnOwnThread)
    {
        // Most threads have no context but the one that most runs have.
        ExecutionContext? context = Run.Context;
        if (context is null || (RunsNoUserCode && ReferenceEquals(context, ExecutionContext.Capture())))
        {
            Drive(isOnOwnThread);
        }
        else
        {
            ExecutionContext.Run(
                context, isOnOwnThread ? static work => ((PumpWork)work!).Drive(true) : static work => ((PumpWork)work!).Drive(false), this);
        }
    }

    /// <summary>Whether the work cannot change the thread's context.</summary>
    protected virtual bool RunsNoUserCode => false;

    private void Resume()
    {
        try
        {
            FaultPoint.Pass("PumpWork.Resume", Run);

            // A completion that runs its continuations inline can nest items to any depth.
            if (Run.Settings.Executor.CanRunOnCurrentThread && RuntimeHelpers.TryEnsureSufficientExecutionStack())
            {
                Work(isOnOwnThread: false);
            }
            else
            {
                Run.Settings.Executor.Queue(this);
            }
        }
        catch (Exception e)
        {
            Lost(e);
        }
    }
}
