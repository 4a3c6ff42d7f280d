#!/bin/sh
# Installs Countersign for the person who runs this, below ~/.local, or elsewhere with --prefix. It needs no rights but
# to write there, and downloads nothing. What it installs is what --uninstall removes; settings and saved documents stay.
set -eu

usage() {
	cat <<'END'
Usage: ./install.sh [--prefix DIR] [--autostart] [--uninstall]

  --prefix DIR   install below DIR (default: ~/.local; /usr/local for all people of this computer)
  --autostart    start Countersign in the tray when you sign in
  --uninstall    remove what was installed below DIR
END
}

here=$(cd "$(dirname "$0")" && pwd)
prefix=${HOME:?}/.local
autostart= uninstall=
while [ $# -gt 0 ]; do
	case $1 in
	--prefix) [ $# -gt 1 ] || { usage >&2; exit 2; }; prefix=$2; shift ;;
	--autostart) autostart=yes ;;
	--uninstall) uninstall=yes ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
entry=${XDG_CONFIG_HOME:-$HOME/.config}/autostart/countersign.desktop

# A desktop entry is quoted in its own way; so are the words of sed.
quoted=$(printf '%s' "$prefix/bin/countersign" | sed -e 's/[\\"`$]/\\&/g' -e 's/\\/\\\\/g' -e 's/%/%%/g')
replacement=$(printf '%s' "\"$quoted\"" | sed -e 's/[\\&|]/\\&/g')

files() { (cd "$here/files" && find . -type f | sed 's|^\./||'); }

if [ -n "$uninstall" ]; then
	files | while IFS= read -r f; do
		rm -f -- "$prefix/$f"
		rmdir -p -- "$(dirname -- "$prefix/$f")" 2>/dev/null || true
	done
	if [ -f "$entry" ] && grep -qF "$quoted" "$entry"; then rm -f -- "$entry"; fi
	echo "Countersign was removed from $prefix. Your settings and documents are untouched."
else
	files | while IFS= read -r f; do
		mkdir -p -- "$(dirname -- "$prefix/$f")"
		mode=644
		case $f in bin/* | share/kio/servicemenus/*) mode=755 ;; esac
		# A program that runs cannot be written to, but replaced it can.
		cp -- "$here/files/$f" "$prefix/$f.new"
		case $f in
		*.desktop | *.nemo_action) sed "s|^Exec=countersign|Exec=$replacement|" "$here/files/$f" >"$prefix/$f.new" ;;
		esac
		chmod "$mode" -- "$prefix/$f.new"
		mv -f -- "$prefix/$f.new" "$prefix/$f"
	done
	if [ -n "$autostart" ]; then
		mkdir -p -- "$(dirname -- "$entry")"
		sed -e '/^#/d' -e '/^TryExec=/d' -e 's/ --if-used//' -e "s|^Exec=countersign|Exec=$replacement|" "$here/countersign-autostart.desktop" >"$entry"
	fi
	echo "Countersign is installed: $prefix/bin/countersign"
	case :$PATH: in *:"$prefix/bin":*) ;; *) echo "$prefix/bin is not in your PATH; the menu of your desktop finds Countersign all the same." ;; esac
fi

# Menus notice by themselves after a while; these make it at once where they are there.
for update in "update-mime-database $prefix/share/mime" "update-desktop-database -q $prefix/share/applications" "gtk-update-icon-cache -q -t -f $prefix/share/icons/hicolor"; do
	command -v "${update%% *}" >/dev/null 2>&1 || continue
	case $prefix in *[!A-Za-z0-9/._-]*) continue ;; esac
	case $update in update-mime-database*) [ -d "$prefix/share/mime/packages" ] || continue ;; esac
	$update >/dev/null 2>&1 || true
done
